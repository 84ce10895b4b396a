"""A response and its hooks: what waits with it, and what is written in its place."""

from __future__ import annotations

from collections.abc import Callable

from balancer.errors import ErrorKind
from balancer.http.edits import HeadEdit
from balancer.http.messages import ResponseHead
from balancer.matching.gates.hooks import HookGate
from balancer.model.hooks import HookPhase, HookRule
from balancer.proxy.account import Account
from balancer.proxy.hooked_accounts import HookedAccount
from balancer.proxy.hooked_streams import HeldResponse, HookedStream
from tests.fakes.streams import MemoryStream
from tests.questions import question_of
from tests.unit.balancer.matching.gates.test_hooks import Calls
from tests.unit.zonal_hooks.test_messages import request
from zonal_hooks.messages import Edits
from zonal_hooks.verdicts import PASSED, Denied, Failed, Passed, Replied
from zonal_hooks.verdicts import Verdict as HookVerdict

HEAD = ResponseHead(200, ((b"server", b"web"), (b"x-a", b"1")), 4, b"")
EDIT = HeadEdit(frozenset({b"server"}), ((b"Server", b"zonal"),))


class Asked:
    """A stream with one hook, and what came out of it."""

    def __init__(self, *verdicts: HookVerdict | None, passes_on_error: bool = False) -> None:
        self.calls = Calls(*verdicts)
        phase = HookPhase("response", 0.02, passes_on_error)
        hooks = tuple(HookGate(HookRule(f"h{number}", "d", (phase,)), self.calls) for number in range(len(verdicts)))
        self.account = HookedAccount(Account("192.0.2.1", question_of("http://shop.test/").request, 0.0))
        self.inner = MemoryStream()
        self.later: list[Callable[[], None]] = []
        self.stream = HookedStream(self.inner, hooks, self.account, request(), self.later.append)

    def resume(self, verdict: HookVerdict) -> None:
        assert self.calls.waiting is not None
        self.calls.waiting.tell(verdict)


def test_a_response_that_no_hook_changes_keeps_its_edit() -> None:
    asked = Asked(PASSED)
    held = HeldResponse(HEAD, EDIT, b"", None)
    assert held.edited() is EDIT
    assert held.visible == ((b"x-a", b"1"), (b"server", b"zonal"))
    asked.stream.respond(HEAD, EDIT, b"body", ())
    assert asked.inner.head is HEAD
    assert asked.inner.body == b"body"


def test_edits_come_last() -> None:
    held = HeldResponse(HEAD, EDIT, b"", None)
    held.take(Edits(frozenset({b"server"}), ((b"Server", b"mine"),)))
    held.take(Edits(frozenset({b"x-a"}), ()))
    assert held.visible == ((b"server", b"mine"),)
    assert held.edited().added == ((b"Server", b"mine"),)
    assert held.edited().removed == {b"server", b"x-a"}


def test_what_follows_a_head_waits_with_it() -> None:
    asked = Asked(None)
    asked.stream.respond(HEAD, EDIT, b"bo", None)
    assert asked.stream.writing_paused
    asked.stream.send(b"d")
    asked.stream.send(b"y")
    asked.stream.finish(())
    assert asked.inner.body == b""
    done: list[ErrorKind | None] = []
    assert not asked.stream.is_written(done.append)
    asked.resume(Passed(Edits(frozenset(), ((b"X-B", b"2"),))))
    assert (asked.inner.body, done) == (b"body", [None])
    assert not asked.stream.writing_paused


def test_an_answer_takes_the_place_of_a_response() -> None:
    for verdict, status, kind in (
        (Denied(403), 403, ErrorKind.HOOK_DENIED),
        (Replied(418, (), b"tea"), 418, None),
        (Failed("raised"), 503, ErrorKind.HOOK_FAILED),
    ):
        asked = Asked(verdict, PASSED)
        asked.stream.respond(HEAD, EDIT, b"bo", None)
        asked.stream.send(b"dy")
        asked.stream.finish(())
        assert asked.inner.head is not None
        assert asked.inner.head.status == status
        assert not asked.inner.body.startswith(b"bo")
        assert asked.stream.replaced == (status, kind)
        assert asked.account.hook == "h0"
        assert len(asked.later) == 1


def test_a_hook_that_fails_may_let_pass() -> None:
    asked = Asked(Failed("raised"), passes_on_error=True)
    asked.stream.respond(HEAD, EDIT, b"body", ())
    assert asked.inner.body == b"body"


def test_a_client_that_leaves_ends_the_wait() -> None:
    asked = Asked(None)
    asked.stream.respond(HEAD, EDIT, b"body", ())
    done: list[ErrorKind | None] = []
    asked.stream.is_written(done.append)
    asked.stream.client_lost(ErrorKind.CLIENT_LEFT)
    assert done == [ErrorKind.CLIENT_LEFT]
    assert asked.calls.waiting is not None
    assert asked.calls.waiting.is_cancelled
    asked.resume(PASSED)
    assert asked.inner.head is None

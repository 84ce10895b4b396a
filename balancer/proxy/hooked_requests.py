"""Serves the requests of routes with hooks. Requests of other routes never come here, and pay nothing for hooks.

The order is that of every request, with the hooks after all other gates. A body that a hook asks for is received when
those have let the request pass.
"""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.http.messages import RequestHead
from balancer.http.passing import written_alike
from balancer.http.streams import Outgoing
from balancer.matching.branches import Junction
from balancer.matching.destinations import Destination
from balancer.matching.gates.hooks import HookAsked, HookScene, RouteHooks, request_of, steered_by
from balancer.matching.gates.leading import said_before
from balancer.matching.gates.verdicts import PASSED, Gate, Go, NewPath, Reply
from balancer.matching.served import Match
from balancer.proxy.attempts import Attempts
from balancer.proxy.body_room import BodyRoom
from balancer.proxy.gating import Gating
from balancer.proxy.hooked_accounts import HookedAccount
from balancer.proxy.hooked_streams import HookedStream
from balancer.proxy.preparing import prepare
from balancer.proxy.requests import Request
from balancer.proxy.spooling import SpooledBody, Spooling
from zonal_hooks.answers import BODY_BYTES_MOST


class HookGating(Gating):
    """Asks the hooks of one request, after other gates: what those have said goes on with it."""

    __slots__ = ("_scene",)

    def __init__(self, owner: HookedRequest, hooks: RouteHooks, asked: HookAsked) -> None:
        scene = asked.scene
        super().__init__(owner, hooks.gates, asked, scene.said)
        self._scene = scene

    def _add(self, verdict: Go) -> None:
        """Later hooks are told by the scene."""
        scene = self._scene
        scene.take(verdict)
        self._go = scene.said


class HookSpooling(Spooling):
    """Receives a body that hooks read."""

    __slots__ = ()

    def __init__(self, owner: HookedRequest, to: Destination, room: BodyRoom, timeout_seconds: float) -> None:
        super().__init__(owner, to, room, timeout_seconds)
        self._body = SpooledBody(BODY_BYTES_MOST, room, to.tenant)
        self._bytes_most = min(self._bytes_most or BODY_BYTES_MOST, BODY_BYTES_MOST)


class HookedRequest(Request):
    """Serves one request of a route with hooks."""

    __slots__ = ("_asked", "_body", "_go_before", "_hooked", "_hooks", "_is_past_hooks", "_scene")

    def __init__(self, request: Request) -> None:
        """Takes the place of `request`, whose route is matched and about which nobody was asked."""
        served = request.match.served
        hooks = served.hooks
        assert hooks is not None
        for name in ("supplies", "waiting", "stream", "origin", "view", "match", "alarm", "editors", "held"):
            setattr(self, name, getattr(request, name))
        self.is_over = False
        self.page_status = 0
        self.account = HookedAccount(request.account)
        self._hooks = hooks
        self._scene = HookScene(served.route.owner.full_name)
        self._asked: HookAsked | None = None
        self._go_before: Go | None = None
        self._body: SpooledBody | None = None
        self._is_past_hooks = False
        self._hooked: HookedStream | None = None

    def enter(self, head: RequestHead) -> None:
        """Asks the gates of the route, then its hooks."""
        served, stream = self.match.served, self.stream
        before, scene = said_before(head), self._scene
        known = self.account.request_id, before.added, self._is_servable
        asked = HookAsked(head, self.origin, stream.secure, self.match.captures, *known, scene=scene)
        self._asked = asked
        scene.said = before
        if self._hooks.responses:
            assert isinstance(self.account, HookedAccount)
            seen = request_of(asked, scene)
            seen.end()
            later = self.supplies.loop.call_soon
            hooked = HookedStream(stream, self._hooks.responses, self.account, seen, later)
            self._hooked = hooked
            self.stream = hooked
        gates: tuple[Gate, ...] = served.secure_gates if self.origin.https else served.plain_gates
        if gates:
            Gating(self, gates, asked, before).begin()
        else:
            self.gates_passed(before)

    def gates_passed(self, go: Go) -> None:
        if self._go_before is not None:
            return self._hooks_passed(go)
        self._go_before = go
        stream = self.stream
        stream.detach()
        try:
            if self._hooks.takes_body:
                self._receive()
            else:
                self._ask_hooks()
        except Exception:
            self.break_off()

    def _receive(self) -> None:
        request = self.account.request
        assert request is not None
        if request.body_bytes == 0:
            self._scene.body = b""
            return self._ask_hooks()
        if request.body_bytes is not None and request.body_bytes > BODY_BYTES_MOST:
            return self.answer(ErrorKind.BODY_TOO_LARGE)
        seconds, room = self.view.proxy.client_body_timeout_seconds, self.supplies.forwarder.bodies
        HookSpooling(self, self.match.served.main, room, seconds).begin(expects_continue=request.expects_continue)

    def body_received(self, body: SpooledBody) -> None:
        """The whole body is here: for the hooks, or because the route has every body received first."""
        if self._is_past_hooks:
            return super().body_received(body)
        try:
            self._body = body
            self._scene.body = b"".join(body.pieces())
            self._ask_hooks()
        except Exception:
            body.drop()
            self.break_off()

    def _ask_hooks(self) -> None:
        asked = self._asked
        assert asked is not None
        self._scene.said = self._go_before or PASSED
        HookGating(self, self._hooks, asked).begin()

    def _hooks_passed(self, go: Go) -> None:
        self._is_past_hooks = True
        body = self._body
        if body is None:
            return super().gates_passed(go)
        self.stream.detach()
        self._go = go
        super().body_received(body)

    def gate_led(self, to: NewPath, go: Go) -> None:
        """Hooks of two routes never see one request, so the translation closes such a path."""
        self.gate_denied(ErrorKind.PATH_CLOSED)

    def gate_denied(self, kind: ErrorKind) -> None:
        self._note_hook()
        super().gate_denied(kind)

    def gate_replied(self, reply: Reply) -> None:
        self._note_hook()
        super().gate_replied(reply)

    def _note_hook(self) -> None:
        if isinstance(self.account, HookedAccount):
            self.account.hook = self._scene.answered_by

    def _forward_changed(self, outgoing: Outgoing, match: Match, go: Go | None, body: SpooledBody | None) -> None:
        choice, has_endpoints = self._scene.choice, self.view.has_endpoints
        served = match.served
        junction: Junction | None = served.junction
        if choice.canary is not None and junction is not None:
            to = junction.named(choice.canary)
            if to is not None and has_endpoints(to.backend):
                match = Match(served.leading_to(to), match.captures)
                self.account.destination = to
        prepared = prepare(self, outgoing, match, go, body)
        if isinstance(prepared, ErrorKind):
            return self.answer(prepared)
        outgoing.replaced |= self._scene.removed
        if self._scene.removed and outgoing.passing.underscores:
            outgoing.replaced |= written_alike(outgoing.request.fields, self._scene.removed)
        destination = steered_by(prepared.to, choice)
        Attempts().begin(self, outgoing, destination, prepared.now, prepared.kept, prepared.intercepts)

    def end(self) -> None:
        """The request is over, unless a hook still holds its response."""
        hooked = self._hooked
        if hooked is not None:
            if not hooked.is_written(self._written):
                return
            if hooked.replaced is not None:
                status, error = hooked.replaced
                self.account.status = status
                self.account.error = error
        super().end()

    def _written(self, kind: ErrorKind | None) -> None:
        if kind is not None:
            self.account.error = kind
        try:
            self.end()
        except Exception:
            self.break_off()


def serve_hooked(request: Request, head: RequestHead) -> None:
    """Takes `request` over, which is one of a route with hooks."""
    hooked = HookedRequest(request)
    try:
        hooked.enter(head)
    except Exception:
        hooked.break_off()

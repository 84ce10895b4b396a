"""Asks the hooks of a route about its responses, between whoever answers and the client's stream.

The head of a response waits here while a hook waits, and what follows it with it: whoever sends is told that the client
does not read, so an endpoint is held back. Answers of the proxy itself pass here, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from balancer.errors import ErrorKind
from balancer.http import grpc
from balancer.http.dates import http_date
from balancer.http.edits import HeadEdit
from balancer.http.messages import Fields, RequestHead, ResponseHead, Trailers
from balancer.http.streams import RequestStream
from balancer.matching.gates.hooks import VERDICTS, HookGate, answer_of
from balancer.matching.gates.verdicts import Deny, Reply, Waiting
from balancer.proxy.answers import ANSWERS, error_response, grpc_response, reply_response
from balancer.proxy.answers import Response as OwnResponse
from balancer.proxy.between import StreamBetween
from balancer.proxy.hooked_accounts import HookedAccount
from zonal_hooks.messages import Edits, Request, Response
from zonal_hooks.verdicts import Failed, Passed, Verdict

_NOTHING = Edits()


class HeldResponse:
    """A response whose hooks have not all answered: its head, and what has come of its body."""

    __slots__ = ("body", "edit", "edits", "head", "trailers", "visible")

    def __init__(self, head: ResponseHead, edit: HeadEdit, data: bytes, trailers: Trailers | None) -> None:
        self.head = head
        self.edit = edit
        self.body = data
        self.trailers = trailers
        self.edits = _NOTHING
        added = tuple((name.lower(), value) for name, value in edit.added)
        self.visible: Fields = (*(field for field in head.fields if field[0] not in edit.removed), *added)

    def take(self, edits: Edits) -> None:
        """Adds what a hook changes."""
        kept = tuple(field for field in self.edits.added if field[0].lower() not in edits.removed)
        self.edits = Edits(self.edits.removed | edits.removed, kept + edits.added)
        left = tuple(field for field in self.visible if field[0] not in edits.removed)
        self.visible = left + tuple((name.lower(), value) for name, value in edits.added)

    def edited(self) -> HeadEdit:
        """The edit of the head with those of hooks. Without any it is the same object, which caches know."""
        edits = self.edits
        if edits is _NOTHING:
            return self.edit
        kept = tuple(field for field in self.edit.added if field[0].lower() not in edits.removed)
        return HeadEdit(self.edit.removed | edits.removed, kept + edits.added)


class HookedStream(StreamBetween):
    """The stream of one request, whose response hooks see.

    `replaced` are status and error of the answer that a hook gave in the place of the response; None: it gave none.
    """

    __slots__ = (
        "_account",
        "_asked",
        "_at",
        "_calling",
        "_done",
        "_held",
        "_hooks",
        "_later",
        "replaced",
    )

    def __init__(
        self,
        inner: RequestStream,
        hooks: tuple[HookGate, ...],
        account: HookedAccount,
        asked: Request,
        later: Callable[..., object],
    ) -> None:
        """`asked` is the request as hooks see it beside its response. `later` calls in the next turn of the loop."""
        super().__init__(inner)
        self._hooks = hooks
        self._account = account
        self._asked = asked
        self._later = later
        self._held: HeldResponse | None = None
        self._at = 0
        self._calling: Waiting | None = None
        self.replaced: tuple[int, ErrorKind | None] | None = None
        self._done: Callable[[ErrorKind | None], None] | None = None

    def is_written(self, done: Callable[[ErrorKind | None], None]) -> bool:
        """Whether no hook holds the response. Otherwise calls `done` when none does, or if the client has left."""
        if self._held is not None:
            self._done = done
        return self._held is None

    # The response.

    def respond(self, head: ResponseHead, edit: HeadEdit, data: bytes, trailers: Trailers | None) -> None:
        self._held = HeldResponse(head, edit, data, trailers)
        self._at = 0
        self._go_on()
        if self._held is not None and trailers is None and self._consumer is not None and not self.inner.writing_paused:
            self._consumer.client_paused()

    def _go_on(self) -> None:
        """Asks the hooks that are left, until one answers or waits."""
        held = self._held
        assert held is not None
        for hook in self._hooks[self._at :]:
            self._at += 1
            message = Response(held.visible, held.head.status, self._asked)
            told = hook.caller.call("response", message)
            if not isinstance(told, VERDICTS):
                self._calling = told
                return told.tell_to(self._heard)
            if self._take(hook, held, told):
                return
        self._held = None
        self.inner.respond(held.head, held.edited(), held.body, held.trailers)

    def _take(self, hook: HookGate, held: HeldResponse, verdict: Verdict) -> bool:
        """Takes the verdict of one hook. Whether it answers in the place of the response."""
        if isinstance(verdict, Passed):
            if verdict.edits.removed or verdict.edits.added:
                held.take(verdict.edits)
            return False
        if isinstance(verdict, Failed) and hook.phases["response"].passes_on_error:
            return False
        self._account.hook = hook.name
        self._replace(held, answer_of(verdict))
        return True

    def _replace(self, held: HeldResponse, answer: Deny | Reply) -> None:
        """Answers in the place of the response, of which nothing was written yet."""
        self._held = None
        response = _own_response(answer, self._account.request)
        self.replaced = response.head.status, answer.kind
        self.inner.respond(response.head, HeadEdit(held.edit.removed, response.fields), response.body, ())
        if held.trailers is None:
            self._later(self._drop)

    def _drop(self) -> None:
        """Ends the exchange, whose response nobody gets."""
        if self._consumer is not None:
            self._consumer.client_lost(ErrorKind.CLIENT_LEFT)

    def _heard(self, verdict: Verdict) -> None:
        """Goes on with the verdict of the hook that waited."""
        held = self._held
        if self._calling is None or held is None:
            return
        self._calling = None
        if not self._take(self._hooks[self._at - 1], held, verdict):
            self._go_on()
        if self._held is None:
            self._tell_written()

    def _tell_written(self) -> None:
        done = self._done
        self._done = None
        if done is not None:
            done(None)
        elif self._consumer is not None and not self.inner.writing_paused:
            self._consumer.client_resumed()

    @property
    def writing_paused(self) -> bool:
        """Whether the client or a hook holds the response up."""
        return self._held is not None or self.inner.writing_paused

    def reads_little(self) -> bool:
        return True

    def send(self, data: bytes) -> None:
        if self._held is not None:
            self._held.body += data
        elif self.replaced is None:
            self.inner.send(data)

    def finish(self, trailers: Trailers) -> None:
        if self._held is not None:
            self._held.trailers = trailers
        elif self.replaced is None:
            self.inner.finish(trailers)

    def reset(self) -> None:
        self.stop()
        if self.replaced is None:
            self.inner.reset()

    def release(self) -> None:
        self.stop()
        self.inner.detach()
        self.inner.release()

    def stop(self) -> None:
        """Nobody gets the response that a hook holds."""
        calling = self._calling
        self._calling = None
        self._held = None
        if calling is not None:
            calling.cancel()

    # Events of the client, on their way to the exchange.

    def detach(self) -> None:
        self._consumer = None
        if self._held is None:
            self.inner.detach()

    def client_paused(self) -> None:
        """The client does not read; the exchange knows already if a hook holds the response."""
        if self._consumer is not None and self._held is None:
            self._consumer.client_paused()

    def client_resumed(self) -> None:
        """The client reads again."""
        if self._consumer is not None and self._held is None:
            self._consumer.client_resumed()

    def client_lost(self, kind: ErrorKind) -> None:
        """Nobody gets the response."""
        self.stop()
        done = self._done
        self._done = None
        if self._consumer is not None:
            self._consumer.client_lost(kind)
        elif done is not None:
            done(kind)


def _own_response(answer: Deny | Reply, request: RequestHead | None) -> OwnResponse:
    date = http_date(time.time())
    head_only = request is not None and request.method == b"HEAD"
    if isinstance(answer, Deny):
        response = error_response(ANSWERS[answer.kind], accept=b"", head_only=head_only, date=date)
    else:
        response = reply_response(answer, head_only=head_only, date=date)
    if request is not None and grpc.is_call(request.fields):
        return grpc_response(response, grpc.status_for(response.head.status))
    return response

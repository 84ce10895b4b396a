"""Runs one attempt: connects a client's stream with an endpoint's stream until the response has ended.

Callbacks pass heads and bodies from one stream to the other, with back-pressure both ways. Decides nothing about
retries and makes no answers: at its end it calls its owner, and the outcome says how far it came.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from balancer.errors import AttemptError, ErrorKind, Refusal, Sent
from balancer.http import grpc
from balancer.http.consumers import ResponseConsumer
from balancer.http.edits import HeadEdit
from balancer.http.filters import BodyFilter
from balancer.http.messages import ResponseHead, Trailers
from balancer.http.streams import EndpointStream
from balancer.http.trailers import trailers_for_client, trailers_for_endpoint
from balancer.picking.outcomes import pause_asked
from balancer.proxy.bodies import KeptBody, sent_of
from balancer.proxy.context import RequestContext
from balancer.proxy.exchange_owner import ExchangeOwner
from balancer.proxy.retries import PASSED_OVER_LEAST

_UNAVAILABLE = 503
_PIECES_A_TURN = 16  # so that a long body holds up other requests for a moment only


class Exchange(ResponseConsumer):
    """One request on one endpoint's stream.

    Notes in the account what was sent and received, with the `status` of the response that was relayed, 0 if none was.
    """

    __slots__ = (
        "_account",
        "_client",
        "_context",
        "_ended",
        "_filter",
        "_first_byte_at",
        "_hidden",
        "_is_repeated",
        "_owner",
        "_request_done",
        "_source",
        "_tunnelled",
        "endpoint",
    )

    _hidden: frozenset[bytes]  # names in the head of a response whose body goes on

    def begin(self, context: RequestContext, owner: ExchangeOwner, endpoint: EndpointStream) -> None:
        """Sends the request with its body and relays the response; called once.

        The arguments are not those of a constructor, because compiled code would make a tuple of them.
        """
        client = context.stream
        self._context = context
        self._owner = owner
        self.endpoint = endpoint
        self._client = client
        self._account = context.account
        self._is_repeated = False
        self._ended = False
        self._tunnelled = False
        self._first_byte_at = 0.0
        self._filter: BodyFilter | None = None
        self._source: Iterator[bytes] | None = None
        outgoing = context.outgoing
        is_done = outgoing.request.body_bytes == 0
        self._request_done = is_done
        client.attach(self)
        alarm = context.alarm
        alarm.owner = self
        if is_done:
            alarm.set_looking(context.policy.read_timeout_seconds)
        elif context.is_call or outgoing.request.expects_continue:  # a call may have nothing to say for long
            alarm.set(context.policy.read_timeout_seconds)
        else:
            alarm.set(context.view.proxy.client_body_timeout_seconds)
        endpoint.begin(self, outgoing)
        if is_done:
            return
        kept = context.kept
        if kept is not None and client.body_begun:
            self._is_repeated = True
            self._source = kept.pieces()
            self._send_kept(kept)
        else:
            self._start_body()

    def _start_body(self) -> None:
        """Takes the body from the client, or waits with it: an endpoint that reads nothing now was paused before."""
        client = self._client
        client.start_body()
        if self.endpoint.writing_paused and not self._ended:
            self.endpoint_paused()

    def _send_kept(self, kept: KeptBody) -> None:
        """Sends the part of the body that was received before, and then the rest.

        A whole body goes as fast as the endpoint takes it. A part is short, and goes at once: the rest may come at any
        moment, and must follow it.
        """
        is_whole, endpoint = kept.trailers is not None, self.endpoint
        for _ in range(_PIECES_A_TURN):
            source = self._source
            if source is None or self._ended or (is_whole and endpoint.writing_paused):
                return
            try:
                piece = next(source, b"")
            except OSError:  # the file of a body cannot be read
                return self._fail(ErrorKind.OVERLOADED)
            if piece:
                self._account.request_bytes += len(piece)
                endpoint.send(piece)
            else:
                trailers = kept.trailers
                self._source = None
                if trailers is not None:
                    self._finish_request(trailers)
                else:
                    self._start_body()
        asyncio.get_running_loop().call_soon(self._send_kept, kept)

    # From the client.

    def request_data(self, data: bytes) -> None:
        context, endpoint = self._context, self.endpoint
        if self._tunnelled and not self._ended:
            self._account.request_bytes += len(data)
            endpoint.send(data)
            self._arm()
        elif self._takes(data):
            alarm = context.alarm
            alarm.set(context.view.proxy.client_body_timeout_seconds)
            endpoint.send(data)

    def request_rest(self, data: bytes, trailers: Trailers) -> None:
        if self._takes(data):
            self._end_request(trailers, data)

    def request_end(self, trailers: Trailers) -> None:
        if not self._request_done:
            self._end_request(trailers, b"")

    def _takes(self, data: bytes) -> bool:
        """Counts and keeps a piece of the body. Whether it goes to the endpoint."""
        context, account = self._context, self._account
        if self._ended or self._tunnelled or self._request_done:  # an error page answers without the rest of the body
            return False
        account.request_bytes += len(data)
        limit = context.policy.max_body_bytes
        if limit and account.request_bytes > limit:
            self.request_failed(Refusal(ErrorKind.BODY_TOO_LARGE, "a body over its limit"))
            return False
        kept = context.kept
        if kept is not None:
            kept.add(data)
        return True

    def _end_request(self, trailers: Trailers, data: bytes) -> None:
        kept = self._context.kept
        if kept is not None:
            kept.end(trailers)
        self._finish_request(trailers, data)

    def _finish_request(self, trailers: Trailers, data: bytes = b"") -> None:
        self._request_done = True
        context = self._context
        alarm = context.alarm
        alarm.set_looking(context.policy.read_timeout_seconds)
        if trailers:
            trailers = trailers_for_endpoint(trailers, context.outgoing)
        endpoint = self.endpoint
        endpoint.finish(trailers, data)

    def _await_endpoint(self) -> None:
        """Awaits more of the response. A client that was paused before this request, unheard, has to read first."""
        context, client = self._context, self._client
        if client.writing_paused:
            return self.client_paused()
        alarm = context.alarm
        alarm.set(context.policy.read_timeout_seconds)

    def request_failed(self, refusal: Refusal) -> None:
        if self._tunnelled:
            endpoint = self.endpoint
            endpoint.finish_writing()  # a half-closed tunnel still delivers the endpoint's bytes
            return
        if not self._request_done:
            self._fail(refusal.kind)

    def client_lost(self, kind: ErrorKind) -> None:
        self._fail(kind)

    def client_paused(self) -> None:
        endpoint = self.endpoint
        endpoint.hold()
        self._arm()

    def client_resumed(self) -> None:
        endpoint = self.endpoint
        endpoint.resume()
        self._arm()

    def expired(self) -> None:
        alarm, endpoint = self._context.alarm, self.endpoint
        if alarm.left() <= 0:
            owner = self._owner
            self._fail(owner.limit_passed())
        elif self._tunnelled:
            endpoint.reset()
            self._finish(time.perf_counter())
        elif self._client.writing_paused:
            self._fail(ErrorKind.CLIENT_LEFT)
        elif not self._request_done and not endpoint.writing_paused:
            self._fail(ErrorKind.REQUEST_TIMEOUT)
        else:
            self._fail(ErrorKind.ENDPOINT_TIMEOUT)

    def looks(self) -> None:
        owner = self._owner
        if not self._first_byte_at and owner.leaves_silent(sent_of(self._client, self._context.kept)):
            self._fail(ErrorKind.ENDPOINT_SILENT)

    # From the endpoint.

    def interim(self, response: ResponseHead) -> None:
        # A client gets no 100 for a body that it has already begun to send to an earlier endpoint.
        if response.status != 100 or (self._context.outgoing.request.expects_continue and not self._is_repeated):
            client = self._client
            client.interim(response)
            if response.status == 100 and not self._request_done:
                self._arm()

    def switched(self, response: ResponseHead, data: bytes) -> None:
        self._first_byte_at = time.perf_counter()
        account = self._account
        account.status = 101
        account.endpoint_status = 101
        account.response_bytes = len(data)
        self._tunnelled = True
        alarm = self._context.alarm
        alarm.unlimit()  # a tunnel has no end that could be foreseen
        self._await_endpoint()
        client, edits = self._client, self._context.view.edits
        edit = edits.secure if client.secure else edits.plain
        client.switch(response, self._edited(response, HeadEdit(edit.removed)), data)

    def response_started(self, response: ResponseHead, data: bytes, trailers: Trailers | None) -> None:
        context, client, account = self._context, self._client, self._account
        self._first_byte_at = time.perf_counter()
        status = response.status
        account.endpoint_status = status
        if status >= PASSED_OVER_LEAST and self._passes_over(response):
            self._pass_over(whole=trailers is not None)
            return
        if context.kept is not None and self._source is None:
            context.kept.drop()
        account.status = status
        account.response_bytes = len(data)
        view = context.view
        edit = view.secure_edit if client.secure else view.plain_edit
        if context.editors:
            edit = self._edited(response, edit)
        if (compressor := view.compressor) is not None:
            begun = compressor.begin(context.outgoing.request, response, edit, data, is_whole=trailers is not None)
            response, edit, data, rest = begun
            self._filter = rest
        if trailers is None:
            self._hidden = edit.removed
        elif trailers:
            trailers = trailers_for_client(trailers, edit.removed)
        client.respond(response, edit, data, trailers)
        if trailers is not None:
            if context.is_call:  # without a message the status stands in the head
                account.grpc_status = grpc.status_in(trailers or response.fields)
            self._finish(self._first_byte_at)
        else:
            self._await_endpoint()

    def _passes_over(self, response: ResponseHead) -> bool:
        """Whether the response is not relayed. Notes the pause that it asks for."""
        owner, status = self._owner, response.status
        if status == _UNAVAILABLE:
            self._account.pause_seconds = pause_asked(response.fields, time.time())
        return owner.passes_over(status, sent_of(self._client, self._context.kept) is not Sent.BODY)

    def _edited(self, response: ResponseHead, edit: HeadEdit) -> HeadEdit:
        """`edit` with the changes of the editors of this request."""
        request, origin = self._context.outgoing.request, self._context.origin
        for editor in self._context.editors:
            edit = editor.edit(request, origin, response, edit)
        return edit

    def response_data(self, data: bytes) -> None:
        self._account.response_bytes += len(data)
        if self._filter is not None:
            data = self._filter.feed(data)
        context, client = self._context, self._client
        if data:  # a filter may hold a piece back
            client.send(data)
        if not client.writing_paused:
            alarm = context.alarm  # as `_await_endpoint` does, which would cost each piece a call
            alarm.set(context.policy.read_timeout_seconds)

    def response_end(self, trailers: Trailers) -> None:
        client = self._client
        if self._filter is not None:
            client.send(self._filter.end())
        if trailers and self._context.is_call:
            self._account.grpc_status = grpc.status_in(trailers)
        client.finish(trailers_for_client(trailers, self._hidden) if trailers else trailers)
        self._finish(time.perf_counter())

    def reads_little(self) -> bool:
        client = self._client
        return client.reads_little()

    def endpoint_failed(self, kind: ErrorKind) -> None:
        self._fail(kind)

    def endpoint_paused(self) -> None:
        if self._source is None:
            client = self._client
            client.hold()
        self._arm()

    def endpoint_resumed(self) -> None:
        if self._source is None:
            client = self._client
            client.resume()
        elif (kept := self._context.kept) is not None:
            self._send_kept(kept)
        self._arm()

    def _arm(self) -> None:
        """Sets the deadline of whatever is awaited now: a peer that does not read, a request body, or the endpoint."""
        context = self._context
        alarm, policy = context.alarm, context.policy
        if self._client.writing_paused or self.endpoint.writing_paused:
            alarm.set(policy.send_timeout_seconds)
        elif self._tunnelled or self._request_done:
            alarm.set(policy.read_timeout_seconds)
        else:
            alarm.set(context.view.proxy.client_body_timeout_seconds)

    # The end.

    def _pass_over(self, *, whole: bool) -> None:
        error = AttemptError(ErrorKind.PASSED_OVER, sent_of(self._client, self._context.kept))
        if not whole or not self._request_done:
            endpoint = self.endpoint
            endpoint.reset()
        self._finish(time.perf_counter(), error)

    def _fail(self, kind: ErrorKind) -> None:
        if self._ended:
            return
        sent = sent_of(self._client, self._context.kept)
        if kind is ErrorKind.ENDPOINT_REFUSED and sent is not Sent.BODY:
            sent = Sent.NOTHING
        error = AttemptError(kind=kind, sent=sent, answered=self._account.status != 0)
        endpoint = self.endpoint
        endpoint.reset()
        self._finish(time.perf_counter(), error)

    def _finish(self, now: float, error: AttemptError | None = None) -> None:
        self._ended = True
        alarm, owner = self._context.alarm, self._owner
        client, endpoint = self._client, self.endpoint
        alarm.clear()
        client.detach()
        endpoint.release()
        owner.exchange_ended(error, endpoint.reused, now, self._first_byte_at)

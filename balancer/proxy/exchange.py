"""One attempt under way: joins a client connection to an endpoint connection until the response has ended.

Heads and bodies flow in callbacks from one transport to the other, with back-pressure both ways. It decides nothing
about retries and answers nothing on its own: whoever began it is called at its end, and the outcome says how far it
came.
"""

from __future__ import annotations

import time
from typing import Protocol

import msgspec

from balancer.errors import AttemptError, ErrorKind, Refusal, Sent
from balancer.http1.chunked import Trailers, encode_chunk, encode_last_chunk
from balancer.http1.client import ClientConnection
from balancer.http1.endpoint import EndpointConnection
from balancer.http1.fields import client_response_head, interim_response, must_chunk, switching_response
from balancer.http1.framing import CHUNKED
from balancer.http1.heads import RequestHead, ResponseHead
from balancer.model import ProxySettings, RoutePolicy
from balancer.proxy.retries import PASSED_OVER_LEAST


class ExchangeOwner(Protocol):
    """Whose attempt an exchange is."""

    def passes_over(self, status: int) -> bool:
        """Whether another endpoint shall answer in place of a response of `status`; nothing of it was relayed yet."""

    def exchange_ended(self, exchange: Exchange) -> None:
        """Both connections are free again; called once."""


class Exchange(msgspec.Struct, eq=False):
    """One request on one endpoint connection. `keep_alive` may be lowered by whatever makes the connection end.

    `set_cookie` is a field that a relayed response gets besides its own. At its end: `status` (0 if no response was
    relayed), `endpoint_status`, `first_byte_at` of the response (both 0 if none came) and `ended_at` in
    `time.perf_counter`'s seconds, `response_bytes` and `request_bytes` of body, `error`.
    """

    _owner: ExchangeOwner
    _client: ClientConnection
    _endpoint: EndpointConnection
    _request: RequestHead
    _policy: RoutePolicy
    _settings: ProxySettings
    keep_alive: bool
    _set_cookie: bytes
    _request_done: bool = False
    _ended: bool = False
    _chunked: bool = False
    _tunnelled: bool = False
    status: int = 0
    endpoint_status: int = 0
    response_bytes: int = 0
    request_bytes: int = 0
    first_byte_at: float = 0.0
    ended_at: float = 0.0
    error: AttemptError | None = None

    def begin(self, head: bytes) -> None:
        """Send `head` and the body, relay the response."""
        client, request = self._client, self._request
        self._request_done = request.framing == 0
        client.attach(self)
        client.arm(self._policy.read_timeout_seconds)
        self._endpoint.begin(self, method=request.method, head=head, upgrade=request.upgrade)
        if not self._request_done:
            client.start_body(request.framing)

    # From the client.

    def request_data(self, data: bytes) -> None:
        if self._ended:
            return
        self.request_bytes += len(data)
        if self._tunnelled:
            self._endpoint.write(data)
            self._arm()
            return
        limit = self._policy.max_body_bytes
        if limit and self.request_bytes > limit:
            self.request_failed(Refusal(ErrorKind.BODY_TOO_LARGE, "a body over its limit"))
            return
        self._client.arm(self._settings.client_body_timeout_seconds)
        self._endpoint.write(encode_chunk(data) if self._request.framing == CHUNKED else data)

    def request_end(self, trailers: Trailers) -> None:
        self._request_done = True
        self._client.arm(self._policy.read_timeout_seconds)
        if self._request.framing == CHUNKED:
            self._endpoint.write(encode_last_chunk(trailers))

    def request_failed(self, refusal: Refusal) -> None:
        if self._tunnelled:
            self._endpoint.write_eof()  # a half-closed tunnel still brings what the endpoint has to say
            return
        self._fail(refusal.kind)

    def client_lost(self) -> None:
        self._fail(ErrorKind.CLIENT_LEFT)

    def client_paused(self) -> None:
        self._endpoint.pause_reading()
        self._arm()

    def client_resumed(self) -> None:
        self._endpoint.resume_reading()
        self._arm()

    def expired(self) -> None:
        if self._tunnelled:
            self._endpoint.abort()
            self._finish()
        elif self._client.writing_paused:
            self._fail(ErrorKind.CLIENT_LEFT)
        elif not self._request_done and not self._endpoint.writing_paused:
            self._fail(ErrorKind.REQUEST_TIMEOUT)
        else:
            self._fail(ErrorKind.ENDPOINT_TIMEOUT)

    # From the endpoint.

    def interim(self, response: ResponseHead) -> None:
        if self._request.minor == 1 and (response.status != 100 or self._request.expects_continue):
            self._client.write(interim_response(response))

    def switched(self, response: ResponseHead, data: bytes) -> None:
        self.first_byte_at = time.perf_counter()
        self.status = self.endpoint_status = 101
        self.keep_alive = False
        self._tunnelled = True
        self.response_bytes = len(data)
        self._client.write(switching_response(response, self._set_cookie) + data)
        self._client.arm(self._policy.read_timeout_seconds)
        self._client.start_tunnel()

    def response_started(self, response: ResponseHead, data: bytes, trailers: Trailers | None) -> None:
        client, request = self._client, self._request
        self.first_byte_at = time.perf_counter()
        self.endpoint_status = response.status
        is_bad = response.status >= PASSED_OVER_LEAST
        if is_bad and self._request_done and not client.body_begun and self._owner.passes_over(response.status):
            self._pass_over(whole=trailers is not None)
            return
        self.status = response.status
        self._chunked = response.framing < 0 and must_chunk(response.framing, client_minor=request.minor)
        if client.ending or not self._request_done or (response.framing < 0 and not self._chunked):
            self.keep_alive = False  # the rest of the request, or the end of the response, ends the connection
        hsts = self._settings.hsts if client.secure else None
        head = client_response_head(
            response,
            client_minor=request.minor,
            chunked=self._chunked,
            keep_alive=self.keep_alive,
            hsts=hsts.encode("ascii") if hsts is not None else None,
            set_cookie=self._set_cookie,
        )
        self.response_bytes = len(data)
        if data:
            head += encode_chunk(data) if self._chunked else data
        if trailers is not None and self._chunked:
            head += encode_last_chunk(trailers)
        client.write(head)  # in one: nothing costs more than a system call
        if trailers is not None:
            self._end()
        elif not client.writing_paused:
            client.arm(self._policy.read_timeout_seconds)

    def response_data(self, data: bytes) -> None:
        self.response_bytes += len(data)
        self._client.write(encode_chunk(data) if self._chunked else data)
        if not self._client.writing_paused:
            self._client.arm(self._policy.read_timeout_seconds)

    def response_end(self, trailers: Trailers) -> None:
        if self._chunked:
            self._client.write(encode_last_chunk(trailers))
        self._end()

    def endpoint_failed(self, kind: ErrorKind) -> None:
        self._fail(kind)

    def endpoint_paused(self) -> None:
        self._client.pause_reading()
        self._arm()

    def endpoint_resumed(self) -> None:
        self._client.resume_reading()
        self._arm()

    def _arm(self) -> None:
        """Allow the time of whatever is waited for now: a side that does not read, a request body, or the endpoint."""
        if self._client.writing_paused or self._endpoint.writing_paused:
            self._client.arm(self._policy.send_timeout_seconds)
        elif self._tunnelled or self._request_done:
            self._client.arm(self._policy.read_timeout_seconds)
        else:
            self._client.arm(self._settings.client_body_timeout_seconds)

    # The end.

    def _end(self) -> None:
        if not self._request_done:
            self._endpoint.reusable = False  # it answered early; the rest of the request never reaches it
            self.keep_alive = False
        self._finish()

    def _pass_over(self, *, whole: bool) -> None:
        self.error = AttemptError(ErrorKind.PASSED_OVER, Sent.HEAD)
        if not whole:
            self._endpoint.abort()
        self._finish()

    def _fail(self, kind: ErrorKind) -> None:
        if self._ended:
            return
        sent = Sent.BODY if self._client.body_begun else Sent.HEAD
        self.error = AttemptError(kind=kind, sent=sent, answered=self.status != 0)
        self.keep_alive = self.keep_alive and self._request_done
        self._endpoint.abort()
        self._finish()

    def _finish(self) -> None:
        self._ended = True
        self.ended_at = time.perf_counter()
        self._client.detach()
        self._endpoint.release()
        self._owner.exchange_ended(self)

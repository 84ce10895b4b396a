"""Asks one endpoint over HTTP/2 whether it is well: by a path, or by the health protocol of gRPC.

Each probe has a connection of its own. The two messages of the protocol have one field each, and are made and read here
(grpc/doc/health-checking.md). This module must not know when endpoints are asked, nor what follows from an answer.
"""

from __future__ import annotations

import asyncio
from typing import cast

from balancer.connections.endpoint_contexts import EndpointContexts
from balancer.connections.endpoint_tls import endpoint_name
from balancer.http.grpc import CONTENT_TYPE, OK, status_in
from balancer.http.messages import Fields, field_value
from balancer.http2.engine import CLIENT
from balancer.http2.engines import make_engine
from balancer.http2.events import CLOSED, DATA, FAULT, HEAD, TRAILERS, EngineLimits, Event
from balancer.model.endpoints import HealthCheck
from balancer.model.handshakes import Handshake
from balancer.picking.members import Member
from balancer.runtime.absences import Absences
from balancer.runtime.waiting import Bounded

_GRPC = "grpc"
_CALL = "/grpc.health.v1.Health/Check"
_SERVING = b"\x00\x00\x00\x00\x02\x08\x01"  # not compressed, two bytes: field 1 is SERVING
_SERVICE_FIELD = b"\x0a"  # field 1 of the question, a text
_ANSWER_BYTES_MAX = 1024
_USER_AGENT = b"zonal-health"


async def answers_well(
    member: Member, check: HealthCheck, tls: Handshake | None, contexts: EndpointContexts, absences: Absences
) -> bool:
    """Whether an endpoint answers with 200 to 399 in time, or to a check by gRPC that it is SERVING.

    With `tls` the request goes over TLS, verified as requests of clients are. Never raises for what an endpoint does.
    """
    endpoint = member.endpoint
    try:
        async with Bounded(check.timeout_seconds, absences):
            transport, probe = await asyncio.get_running_loop().create_connection(
                lambda: _Probe(check, member.label, secure=tls is not None),
                endpoint.address,
                endpoint.port,
                ssl=await contexts.of(member.namespace, tls, http2=True) if tls else None,
                server_hostname=endpoint_name(tls, endpoint.address) if tls else None,
            )
            try:
                return await probe.answer
            finally:
                transport.abort()
    except OSError:  # TimeoutError and ssl.SSLError are OSErrors
        return False


class _Probe(asyncio.Protocol):
    """One request on a connection of its own. `answer`: whether the endpoint is well."""

    def __init__(self, check: HealthCheck, label: str, *, secure: bool) -> None:
        self._check = check
        self._label = label
        self._secure = secure
        self._is_call = check.path.partition(":")[0] == _GRPC
        self._engine = make_engine(CLIENT, EngineLimits())
        self._transport: asyncio.Transport | None = None
        self._message = b""
        self._is_ok = False
        self.answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not of this class
        stream = self._engine.request(_question_fields(self._check, self._label, self._secure), not self._is_call)
        if self._is_call:
            self._engine.data(stream, _question(self._check.path.partition(":")[2].encode()), True)
        self._flush()

    def data_received(self, data: bytes) -> None:
        for event in self._engine.receive(data, asyncio.get_running_loop().time()):
            self._take(event)
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(False)

    def _flush(self) -> None:
        if self._transport is not None and (data := self._engine.take_bytes()):
            self._transport.write(data)

    def _take(self, event: Event) -> None:
        kind = event[0]
        if kind == HEAD:
            self._take_head(event[2])
        elif kind == DATA:
            self._message = (self._message + event[2])[:_ANSWER_BYTES_MAX]
        elif kind == TRAILERS:
            self._is_ok = self._is_ok and status_in(event[2]) == OK
        elif kind == CLOSED:
            self._end(self._is_ok and self._message == _SERVING)
        elif kind == FAULT:
            self._end(False)

    def _take_head(self, fields: Fields) -> None:
        status = field_value(fields, b":status") or b""
        self._is_ok = status == b"200"
        if not self._is_call:
            self._end(b"200" <= status <= b"399")

    def _end(self, is_well: bool) -> None:
        if not self.answer.done():
            self.answer.set_result(is_well)


def _question_fields(check: HealthCheck, label: str, secure: bool) -> Fields:
    is_call = check.path.partition(":")[0] == _GRPC
    fields = {b"user-agent": _USER_AGENT}
    fields |= {name.lower().encode("ascii"): value.encode("ascii") for name, value in check.fields}
    if is_call:
        fields |= {b"content-type": CONTENT_TYPE, b"te": b"trailers"}
    return (
        (b":method", b"POST" if is_call else b"GET"),
        (b":scheme", b"https" if secure else b"http"),
        (b":authority", (check.host or label).encode("ascii")),
        (b":path", (_CALL if is_call else check.path).encode("ascii")),
        *fields.items(),
    )


def _question(service: bytes) -> bytes:
    """A HealthCheckRequest about `service`, or about the whole server, with the prefix of its length."""
    message = _SERVICE_FIELD + bytes((len(service),)) + service if service else b""
    return b"\x00" + len(message).to_bytes(4, "big") + message

"""Endpoints that a test makes sick and well again while they serve, over HTTP/1.1 and as gRPC over HTTP/2.

A failure comes at once, as of a process that is up and cannot work. Everything else takes `seconds`.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable

from balancer.http.grpc import UNAVAILABLE
from balancer.http.messages import Fields
from balancer.model.endpoints import Endpoint
from tests import builders as build
from tests.fakes.http2_endpoints import Call, Http2Endpoint
from tests.features.zones.stage import ZoneEndpoint

_SLOTS = 64
# Endpoints with the same luck would have their long runs of good answers together.
_SEEDS = itertools.count()
_CALL_HEAD: Fields = ((b":status", b"200"), (b"content-type", b"application/grpc"))
_MESSAGE = b"\0\0\0\0\0"


class SickEndpoint(ZoneEndpoint):
    """Answers the share `failing` of its requests with `status` and the lines `fields`, and the others with 200.

    `fails_on`: which requests fail besides, by their head; on those of `breaks_on` it hangs up. `came_at` has the time
    of each request.
    """

    def __init__(self, zone: str, *, seconds: float) -> None:
        super().__init__(zone, seconds=seconds, slots=_SLOTS)
        self.failing, self.status, self.fields = 0.0, 503, b""
        self.fails_on: Callable[[bytes], bool] | None = None
        self.breaks_on: Callable[[bytes], bool] | None = None
        self.came_at: list[float] = []
        self._luck = random.Random(next(_SEEDS))

    def take(self, transport: asyncio.Transport, head: bytes) -> None:
        self.came_at.append(time.perf_counter())
        if self.breaks_on is not None and self.breaks_on(head):
            transport.abort()
        elif self._luck.random() < self.failing or (self.fails_on is not None and self.fails_on(head)):
            self.requests += 1
            transport.write(b"HTTP/1.1 %d Sick\r\nContent-Length: 0\r\n%s\r\n" % (self.status, self.fields))
        else:
            super().take(transport, head)


class SickServer:
    """A gRPC server that answers the share `failing` of its calls with `grpc_status`, and the others with OK.

    `trailers_only`: a failure has no message, so that its status stands in the head.
    """

    def __init__(self, zone: str, *, seconds: float) -> None:
        self.zone, self.seconds = zone, seconds
        self.failing, self.grpc_status, self.trailers_only = 0.0, UNAVAILABLE, True
        self.came_at: list[float] = []
        self._luck = random.Random(next(_SEEDS))
        self._http2 = Http2Endpoint(self._answer)

    @property
    def endpoint(self) -> Endpoint:
        return build.endpoint("127.0.0.1", port=self._http2.port, zone=self.zone)

    async def start(self) -> SickServer:
        await self._http2.__aenter__()
        return self

    async def stop(self) -> None:
        await self._http2.__aexit__()

    def _answer(self, call: Call) -> None:
        self.came_at.append(time.perf_counter())
        if self._luck.random() >= self.failing:
            trailers: Fields = ((b"grpc-status", b"0"),)
            asyncio.get_running_loop().call_later(
                self.seconds, lambda: call.answer(_MESSAGE, fields=_CALL_HEAD, trailers=trailers)
            )
            return
        failure: Fields = ((b"grpc-status", b"%d" % self.grpc_status),)
        if self.trailers_only:
            call.answer(fields=_CALL_HEAD + failure)
        else:
            call.answer(fields=_CALL_HEAD, trailers=failure)

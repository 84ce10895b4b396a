"""The modest tenant: a steady load over HTTP/1.1, over TLS and over HTTP/2, whose failures must be 0.

Responsible for its manifests, its endpoints and its requests.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import AsyncExitStack
from typing import NamedTuple

from h2.exceptions import H2Error

from tests.bench.chaos.ground import APP, Ground, site
from tests.bench.soak.clients import Line
from tests.fakes.clients import RawClient, Response
from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.crew import TracedLoad
from tests.features.faults.http2_load import Http2Load
from tests.features.faults.load import Ledger, Limit, honest
from tests.features.faults.stage import Place
from tests.integration.manifests import path

NAME = "modest"
_ENDPOINTS = 2
_FORGET_SECONDS = 1.0
_SOURCE = "127.0.0.77"
"""The modest clients share their address with nobody, because bounds of clients are divided by address."""


class Served(NamedTuple):
    """What became of one load."""

    name: str
    requests: int
    failures: list[str]
    median_seconds: float
    p99_seconds: float
    slowest_seconds: float


class Modest:
    """`start`, then `run` as often as wanted: each time with loads of its own."""

    def __init__(self, ground: Ground, *, rate: int, limited: Limit = asyncio.timeout) -> None:
        """`limited` says when a request is late, as of `Load`."""
        self._ground, self._limited = ground, limited
        self._rate = rate
        self._endpoints: list[ScriptedEndpoint] = []
        self.ledger = Ledger()
        self._loads: list[TracedLoad] = []

    async def start(self, stack: AsyncExitStack) -> None:
        """Start the endpoints and write the manifests."""
        for number in range(_ENDPOINTS):
            endpoint = ScriptedEndpoint(honest(self.ledger, f"{NAME}-{number}"))
            self._endpoints.append(await stack.enter_async_context(endpoint))
        places = [Place("127.0.0.1", each.port) for each in self._endpoints]
        self._ground.write(NAME, *site(NAME, places, host=APP, paths=[path(f"/{NAME}", "app")]))
        forgetting = asyncio.create_task(self._forget())
        stack.callback(forgetting.cancel)

    async def run(self, *, seconds: float) -> list[Served]:
        """Three loads beside each other for so long."""
        ground, prefix = self._ground, f"/{NAME}"
        trusting = ssl.create_default_context(cadata=ground.authority.cert_pem.bytes().decode())
        loads: dict[str, TracedLoad] = {
            "HTTP/1.1": TracedLoad(ground.http_port, prefix=prefix, source=_SOURCE),
            "HTTP/1.1 over TLS": _TlsLoad(ground.https_port, trusting, prefix=prefix),
            "HTTP/2": _Http2Load(ground.http_port, prefix=prefix, source=_SOURCE),
        }
        for load in loads.values():
            load.limited = self._limited
        self._loads += loads.values()  # their addresses are in the names of their requests, so they may not be reused
        await asyncio.gather(*(load.steady(rate=self._rate, seconds=seconds) for load in loads.values()))
        return [_served(name, load) for name, load in loads.items()]

    async def _forget(self) -> None:
        while True:
            await asyncio.sleep(_FORGET_SECONDS)
            for each in self._endpoints:
                each.visits.clear()


class _TlsLoad(TracedLoad):
    """The same over TLS."""

    def __init__(self, port: int, tls: ssl.SSLContext, *, prefix: str) -> None:
        super().__init__(port, prefix=prefix, source=_SOURCE)
        self._tls = tls

    async def _connected(self) -> RawClient:
        line = Line(self._port, self._tls, source=self._source)
        await line.connect()
        return line


class _Http2Load(Http2Load):
    """What hyper-h2 refuses to send has failed as well, and the run goes on."""

    async def _answer(self, request: bytes) -> Response:
        try:
            return await super()._answer(request)
        except H2Error as error:
            raise ConnectionError(repr(error)) from error


def _served(name: str, load: TracedLoad) -> Served:
    requests = len(load.answers) + len(load.failures)
    if not load.answers:
        return Served(name, requests, load.failures, 0.0, 0.0, 0.0)
    shares = (load.percentile_seconds(share) for share in (0.5, 0.99, 1.0))
    return Served(name, requests, load.failures, *shares)

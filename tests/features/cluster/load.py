"""Requests at a steady rate for as long as something happens to the cluster beside them.

Every request has an id and every body a hash (`tests.features.faults.load`); here is only when it begins and ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.cluster.stage import Stage
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.faults.stage import slice_of
from tests.integration.manifests import config_map, ingress, ingress_class, path, rule, service
from tests.integration.running import Zonal

_SIZES_BYTES = (1024, 65536, 0, 1024)  # 0 is a POST


class App:
    """The Service `app` behind `HOST`, and what reached its endpoints."""

    def __init__(self, endpoints: Sequence[ScriptedEndpoint], ledger: Ledger) -> None:
        self.endpoints = endpoints
        self.ledger = ledger


@asynccontextmanager
async def serving_app(stage: Stage, *, endpoints: int = 2) -> AsyncIterator[App]:
    """Start endpoints of `app` and store all that it takes to serve them. At the end, no POST arrived twice."""
    async with AsyncExitStack() as stack:
        app = App([], ledger := Ledger())
        app.endpoints = [
            await stack.enter_async_context(ScriptedEndpoint(honest(ledger, str(number))))
            for number in range(endpoints)
        ]
        stage.put(ingress_class(), service("app"), *(slice_of("app", each) for each in app.endpoints))
        stage.put(ingress("web", rule(HOST, path("/", "app"))), config_map(ssl_redirect="false"))
        yield app
    assert ledger.doubled_posts == []
    assert ledger.wrong_bodies == []


@asynccontextmanager
async def under_load(zonal: Zonal, *, rate: int = 100) -> AsyncIterator[Load]:
    """Open loop: so many requests a second while the context lasts. At the end, none of them has failed."""
    load, is_over = Load(zonal.http_port), asyncio.Event()
    sending = asyncio.create_task(_send(load, is_over, rate=rate))
    try:
        yield load
    finally:
        is_over.set()
        await sending
    assert load.failures == []
    assert load.answers


async def _send(load: Load, is_over: asyncio.Event, *, rate: int) -> None:
    started, number = time.monotonic(), 0
    async with asyncio.TaskGroup() as group:
        while not is_over.is_set():
            group.create_task(load.ask(_SIZES_BYTES[number % len(_SIZES_BYTES)]))
            number += 1
            await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
    load.close()

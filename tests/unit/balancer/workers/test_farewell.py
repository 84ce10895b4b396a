"""A drain leaves lines: what happens now, when it happened, and how many connections are left."""

from __future__ import annotations

import asyncio
import logging
import re

import pytest

from balancer.workers.farewell import say_farewell
from balancer.workers.reports import FleetReport
from tests.fakes.sockets import until


class Leaving:
    """A fleet whose drain ends when the test says so."""

    def __init__(self) -> None:
        self.clients = [2.0, 1.0]
        self.may_end = asyncio.Event()
        self.drains: list[tuple[float, float]] = []

    async def report(self, about: tuple[str, str] | None = None) -> FleetReport:
        active, idle = self.clients
        return FleetReport(connections={("client_active",): active, ("client_idle",): idle, ("http2_streams",): 9.0})

    async def drain(self, *, grace_seconds: float, limit_seconds: float) -> None:
        self.drains.append((grace_seconds, limit_seconds))
        await self.may_end.wait()


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines, with N in place of each time that was measured."""
    return [re.sub(r"\d+\.\d s", "N s", record.getMessage()) for record in caplog.records]


@pytest.fixture(autouse=True)
def _all_lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="balancer.workers.farewell")


async def drained(fleet: Leaving, grace_seconds: float) -> None:
    await say_farewell(fleet, grace_seconds=grace_seconds, limit_seconds=240.0, reminder_seconds=0.01)  # type: ignore[arg-type]


@pytest.mark.large
async def test_each_step_has_its_line(caplog: pytest.LogCaptureFixture) -> None:
    fleet = Leaving()
    draining = asyncio.ensure_future(drained(fleet, 0.25))
    await until(lambda: "draining: 3 client connections are left after N s" in lines(caplog))
    fleet.clients = [1.0, 0.0]
    await until(lambda: "draining: 1 client connection is left after N s" in lines(caplog))
    fleet.may_end.set()
    await draining
    assert list(dict.fromkeys(lines(caplog))) == [
        "draining: new connections are accepted for 0.25 s more, and each answer ends its connection",
        "draining: the ports are closed after N s; connections have 240 s to end",
        "draining: 3 client connections are left after N s",
        "draining: 1 client connection is left after N s",
        "drained: all workers are gone after N s",
    ]
    assert fleet.drains == [(0.25, 240.0)]


async def test_without_a_grace_period_the_ports_close_at_once(caplog: pytest.LogCaptureFixture) -> None:
    fleet = Leaving()
    draining = asyncio.ensure_future(drained(fleet, 0.0))
    await until(lambda: bool(lines(caplog)))
    assert lines(caplog)[0] == "draining: the ports are closed after N s; connections have 240 s to end"
    fleet.may_end.set()
    await draining


async def test_a_drain_that_is_broken_off_tells_no_more(caplog: pytest.LogCaptureFixture) -> None:
    draining = asyncio.ensure_future(drained(Leaving(), 600.0))
    await until(lambda: bool(lines(caplog)))
    tasks = len(asyncio.all_tasks())
    draining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await draining
    assert len(asyncio.all_tasks()) < tasks - 1, "nothing of it still runs"
    assert "drained" not in caplog.text

"""A connection that is ready for requests is served, unless its entry point has gone or the worker drains."""

from __future__ import annotations

import msgspec
import pytest

from balancer.http.streams import Connection, RequestServer
from balancer.model.entry_points import HTTP, EntryPoint
from tests.unit.balancer.workers.test_worker import serving

pytestmark = pytest.mark.large


class Visitor(Connection):
    """Notes what it is told, until it is cut."""

    def __init__(self, entry_point: EntryPoint) -> None:
        self.entry_point = entry_point
        self.idle_since = 0.0
        self.heard: list[str] = []
        self.server: RequestServer | None = None

    @property
    def idle(self) -> bool:
        return True

    def start(self, server: RequestServer) -> None:
        self.heard.append("start")
        self.server = server

    def end_soon(self) -> None:
        self.heard.append("end soon")

    def abort(self) -> None:
        self.heard.append("cut")
        if self.server is not None:
            self.server.connection_closed()


async def test_a_connection_is_kept_and_served_until_it_ends() -> None:
    async with serving() as scene:
        visitor = Visitor(HTTP)
        scene.worker._handing_over.take(visitor)
        assert visitor.heard == ["start"]
        assert scene.worker.connections()["client_idle"] == 1
        assert visitor.server is not None
        visitor.server.connection_closed()
        assert scene.worker.connections()["client_idle"] == 0


async def test_a_connection_whose_entry_point_has_gone_is_cut() -> None:
    async with serving() as scene:
        visitor = Visitor(msgspec.structs.replace(HTTP, key="gone"))
        scene.worker._handing_over.take(visitor)
        assert visitor.heard[0] == "cut"


async def test_who_comes_while_the_worker_drains_is_told_to_end_soon() -> None:
    async with serving() as scene:
        scene.worker._handing_over.is_draining = True
        visitor = Visitor(HTTP)
        scene.worker._handing_over.take(visitor)
        assert visitor.heard == ["end soon", "start"]

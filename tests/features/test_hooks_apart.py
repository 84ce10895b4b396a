"""Nobody waits for the process of isolated hooks of one namespace: neither its worker, nor other namespaces."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.features.hooks.serving import APART, HOST, OWN, Hooked, hooked
from tests.integration.manifests import Document, endpoint_slice, ingress, path, rule, service
from tests.integration.running import until
from tests.integration.wire import Connection, Response

# Its process stands still in the middle of a call until the other end of the pipe is closed, or for 20 s.
HELD = """
import os, select
@hook(timeout="30s", isolated=True)
def request(r):
    if "x-hold" in r.headers:
        held = os.open({path!r}, os.O_RDONLY | os.O_NONBLOCK)
        select.select([held], [], [], 20)
        os.close(held)
"""
NEIGHBOUR = "neighbour.test"
OTHERS = 200
BEHIND = 64
LARGE = "x" * 6000  # of each call behind: together more than a socket of the system takes


class Pipe:
    """A named pipe that holds up whoever reads it, until it is closed here."""

    def __init__(self, place: Path) -> None:
        os.mkfifo(place)
        self.path = place
        self._end: int | None = None

    def has_reader(self) -> bool:
        """Whether the hook stands still now."""
        if self._end is None:
            try:
                self._end = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # ENXIO: nobody reads
                return False
        return True

    def close(self) -> None:
        """Lets the hook go on."""
        if self._end is not None:
            os.close(self._end)
        self._end = None


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    made = Pipe(tmp_path / "held")
    yield made
    made.close()


@asynccontextmanager
async def held_up(pipe: Pipe) -> AsyncIterator[tuple[Hooked, asyncio.Task[Response]]]:
    """A data plane whose isolated process stands still within a call, and the request that waits for it."""
    text = HELD.format(path=str(pipe.path))
    async with hooked(text) as served:
        served.serve({"first": text}, more=neighbour(served))
        assert (await served.ask("/")).status == 200  # the process has begun
        waiting = asyncio.create_task(served.ask("/", "X-Hold: 1"))
        await until(pipe.has_reader, seconds=20.0)
        yield served, waiting


def neighbour(served: Hooked) -> list[Document]:
    """A host of another namespace, which asks the same hook."""
    return [
        service("web", namespace="neighbour"),
        endpoint_slice(served.web, namespace="neighbour"),
        ingress("web", rule(NEIGHBOUR, path("/", "web")), namespace="neighbour", annotations={f"{OWN}hooks": "first"}),
    ]


async def others_are_served(served: Hooked) -> None:
    """Requests of routes without hooks, one after the other on a kept connection."""
    async with await Connection.open(served.plane.http_port) as connection:
        for number in range(OTHERS):
            response = await connection.get(APART if number % 2 else HOST, "/plain")
            assert response.status == 200


async def test_others_are_served_while_a_hook_computes(pipe: Pipe) -> None:
    async with held_up(pipe) as (served, waiting):
        await others_are_served(served)
        assert not waiting.done()
        pipe.close()
        assert (await waiting).status == 200


async def test_others_are_served_while_its_process_reads_nothing(pipe: Pipe) -> None:
    """The calls that cannot be handed over are kept; the worker does not wait until there is room for them."""
    async with held_up(pipe) as (served, waiting):
        behind = [asyncio.create_task(served.ask("/", f"X-Large: {LARGE}")) for _ in range(BEHIND)]
        await others_are_served(served)
        assert not any(each.done() for each in (waiting, *behind))
        pipe.close()
        assert {each.status for each in await asyncio.gather(waiting, *behind)} == {200}


async def test_another_namespace_is_answered_by_the_same_hook(pipe: Pipe) -> None:
    async with held_up(pipe) as (served, waiting), await Connection.open(served.plane.http_port) as connection:
        for _ in range(OTHERS):
            assert (await connection.get(NEIGHBOUR, "/")).status == 200
        assert not waiting.done()
        pipe.close()
        assert (await waiting).status == 200

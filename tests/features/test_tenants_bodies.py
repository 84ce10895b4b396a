"""A tenant whose clients fill memory and files with bodies that are received first harms no other tenant."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from balancer.proxy.body_room import MEMORY_BYTES_MOST, files_for
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint
from tests.fakes.sockets import until
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, memory_of, neighbours
from tests.integration.running import Zonal

pytestmark = pytest.mark.faults

_MEBIBYTE = 1024**2
_FIRST = {"proxy-request-buffering": "on"}


def files_of(zonal: Zonal) -> int:
    """How many files without a name the process has open."""
    files = 0
    for each in Path(f"/proc/{zonal.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            files += str(each.readlink()).endswith("(deleted)")
    return files


@asynccontextmanager
async def unfinished(port: int, *, clients: int, size: int) -> AsyncIterator[list[RawClient]]:
    """So many requests of the greedy tenant that have sent `size` bytes of a body which is one byte longer."""
    head = f"POST /greedy/0/x HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {size + 1}\r\n\r\n".encode()
    async with AsyncExitStack() as stack:
        all_clients = []
        for _ in range(clients):
            client = await stack.enter_async_context(RawClient(port))
            client.send(head + bytes(size))
            all_clients.append(client)
        yield all_clients


async def answered(client: RawClient) -> int:
    """The status of the answer that has come already, 0 without one."""
    try:
        async with asyncio.timeout(0):
            return (await client.response()).status
    except TimeoutError:
        return 0


async def modest_beside(
    place: Path, *, greedy: Mapping[str, str], modest: Mapping[str, str], clients: int, size: int, files: int
) -> tuple[Load, Load, int, list[int]]:
    """The modest tenant's load alone and beside; how many bytes the process grew by; what the greedy one was told.

    The greedy tenant's bodies are there once it has so many `files`.
    """
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        neighbours(
            place,
            Tenant("greedy", [endpoint], {**_FIRST, **greedy}),
            Tenant("modest", [endpoint], {**_FIRST, **modest}),
        ) as zonal,
    ):
        alone, beside = (Load(zonal.http_port, prefix="/modest") for _ in range(2))
        await alone.steady(rate=50, seconds=1.0)
        before = memory_of(zonal)
        async with unfinished(zonal.http_port, clients=clients, size=size) as crowd:
            await until(lambda: files_of(zonal) >= files)
            await beside.steady(rate=50, seconds=1.0)
            grown = memory_of(zonal) - before
            told = [status for client in crowd if (status := await answered(client))]
    assert ledger.wrong_bodies == ledger.doubled_posts == []
    return alone, beside, grown, told


@in_one_of_three
async def test_a_tenant_whose_bodies_fill_its_memory_goes_to_files(tmp_path: Path, judge_times: bool) -> None:
    alone, beside, grown, told = await modest_beside(
        tmp_path, greedy={"client-body-buffer-size": "1m"}, modest={}, clients=100, size=_MEBIBYTE - 1, files=60
    )
    assert_unharmed(beside, alone, judge_times)
    assert told == []
    assert grown < MEMORY_BYTES_MOST, "100 MiB of bodies would be in memory"


@in_one_of_three
async def test_a_tenant_that_uses_up_its_files_leaves_others_theirs(tmp_path: Path, judge_times: bool) -> None:
    _, descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
    share = files_for(descriptors) // 2
    alone, beside, _, told = await modest_beside(
        tmp_path,
        greedy={"client-body-buffer-size": "1"},
        modest={"client-body-buffer-size": "1"},
        clients=share + 20,
        size=5000,
        files=share - 5,
    )
    assert_unharmed(beside, alone, judge_times)
    assert len(told) >= 20
    assert set(told) == {503}

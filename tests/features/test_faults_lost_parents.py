"""P04: workers end with their parent at once, however much they have to do; then the container is started anew."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.load import HOST
from tests.features.faults.stage import Record, manifests
from tests.integration.processes import lives, peers, workers
from tests.integration.running import started, until

pytestmark = [pytest.mark.faults, pytest.mark.alone, pytest.mark.slow]

_COUNT = 2
_DOWNLOADS = 16  # of each kind: that one worker gets all of them is a chance of 2 to the power of -31
_REQUEST = f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n"


async def endless(visit: Visit) -> None:
    """A body that takes hours."""
    await visit.head()
    await visit.send(_HEAD)
    while True:
        await visit.send(bytes(64 * 1024))


async def read_to_the_end(client: RawClient) -> int:
    """How many bytes come until the connection ends, cleanly or not."""
    count = 0
    try:
        while data := await client.reader.read(64 * 1024):
            count += len(data)
    except ConnectionError:
        pass
    return count


async def test_p04_long_downloads_do_not_keep_workers_whose_parent_was_killed(
    tmp_path: Path, record_property: Record
) -> None:
    async with ScriptedEndpoint(endless) as endpoint, AsyncExitStack() as stack:
        folder = manifests(tmp_path, {"app": [endpoint]})
        zonal = await stack.enter_async_context(started(folder.place, f"--workers={_COUNT}"))
        await zonal.is_serving()
        await zonal.is_ready()
        clients = [await stack.enter_async_context(RawClient(zonal.http_port)) for _ in range(2 * _DOWNLOADS)]
        for client in clients:
            client.send(_REQUEST)
            assert b" 200 " in await client.head()
        stalled, reading = clients[:_DOWNLOADS], clients[_DOWNLOADS:]
        for client in stalled:
            client.stop_reading()
        downloads = [asyncio.create_task(read_to_the_end(client)) for client in reading]
        pids = workers(zonal.pid)
        assert [bool(peers(pid, [zonal.http_port])) for pid in pids] == [True] * _COUNT
        zonal.tell(signal.SIGKILL)
        since_killed = Stopwatch()
        await until(lambda: not any(map(lives, pids)), seconds=5.0)
        seconds = since_killed.seconds
        assert min(await asyncio.gather(*downloads)) > 0
    record_property("seconds", seconds)
    assert seconds <= 1.0

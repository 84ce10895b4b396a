"""`zonal run` with worker processes: they serve as one, none is missed when it dies, and none outlives its parent."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.fakes.backends import EchoEndpoint
from tests.integration.manifests import ingress, path, rule
from tests.integration.processes import command_line, environment, lives, workers, zombies
from tests.integration.running import Zonal, running, started, until
from tests.integration.shop import HOST, Shop, shop
from tests.integration.wire import Connection, Response, get

COUNT = 2
MANY = 60
"""Connections of which each worker gets some: none would be a chance of 2 to the power of -59."""


@asynccontextmanager
async def serving(place: Path, *options: str, grace: str = "0") -> AsyncIterator[tuple[Shop, Zonal]]:
    """A shop behind workers."""
    async with (
        shop(place, {"zone-a": 1}) as opened,
        running(opened.place, "--workers", str(COUNT), *options, grace=grace) as zonal,
    ):
        yield opened, zonal


async def statuses(zonal: Zonal, count: int = MANY, target: str = "/") -> Counter[int]:
    """What `count` requests are answered, each on a connection of its own."""
    answers = await asyncio.gather(*(get(zonal.http_port, HOST, target) for _ in range(count)))
    return Counter(answer.status for answer in answers)


async def requests_counted(zonal: Zonal) -> float:
    return sum(sample.value for sample in (await zonal.metrics())["zonal_requests"].samples)


async def restarts(zonal: Zonal) -> float:
    (sample,) = (await zonal.metrics())["zonal_worker_restarts"].samples
    return float(sample.value)


async def are_others(zonal: Zonal, past: set[int]) -> None:
    """Wait until there are as many workers as there should be, none of them out of `past`."""
    await until(lambda: len(set(workers(zonal.pid)) - past) == COUNT, seconds=20.0)


async def test_they_serve_count_and_log_as_one(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, zonal):
        assert len(workers(zonal.pid)) == COUNT
        assert await statuses(zonal) == {200: MANY}
        assert await requests_counted(zonal) == MANY
        assert len(await zonal.logs(MANY)) == MANY
        assert await restarts(zonal) == 0
        (sample,) = (await zonal.metrics())["zonal_config_generation"].samples
        assert sample.value == await zonal.generation()


async def test_the_kernels_readings_of_the_parent_and_of_each_worker_are_metrics(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, zonal):
        families = await zonal.metrics()
    for name in ("cpu_seconds", "resident_memory_bytes", "open_fds", "start_time_seconds"):
        assert [sample.labels for sample in families[f"process_{name}"].samples] == [{}]
        of_workers = families[f"zonal_worker_{name}"].samples
        assert [sample.labels for sample in of_workers] == [{"worker": str(number)} for number in range(COUNT)]
        assert all(sample.value > 0 for sample in of_workers)


async def test_every_worker_comes_to_serve_what_is_published(tmp_path: Path) -> None:
    async with serving(tmp_path) as (opened, zonal):
        assert await statuses(zonal, target="/new") == {200: MANY}
        opened.folder.write("web.yaml", ingress("web", rule(HOST, path("/old", "cart"))))
        async with asyncio.timeout(30):
            while await statuses(zonal, target="/new") != {404: MANY}:
                pass
        assert await statuses(zonal, target="/old") == {200: MANY}


async def test_a_worker_explains_what_the_parent_knows_about_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, zonal):
        answer = await zonal.admin(f"/debug/explain?url={quote(f'http://{HOST}/', safe='')}")
        told = answer.json()
        assert (answer.status, told["service"], told["policy_source"]) == (200, "shop/cart", "flag-off")
        assert any(step.startswith("EndpointSlice ") for step in told["steps"])
        answer = await zonal.admin(f"/debug/explain?url={quote('no url', safe='')}")
        assert (answer.status, "URL" in answer.json()["error"]) == (400, True)


async def test_a_killed_one_is_replaced_while_the_others_serve_and_nothing_counted_is_lost(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, zonal):
        asked = answered = 0
        for turn in range(1, 4):
            killed = workers(zonal.pid)[0]
            os.kill(killed, signal.SIGKILL)
            answered += (await statuses(zonal))[200]
            asked += MANY
            await are_others(zonal, {killed})
            assert await restarts(zonal) == turn
        # Killed between two requests, it takes none with it: they wait for the next one in the same socket.
        assert answered == asked
        assert await requests_counted(zonal) == asked
        assert zombies(zonal.pid) == []
        assert zonal.stderr.count("SIGKILL") == 3


def priorities(pids: list[int]) -> set[int]:
    return {os.getpriority(os.PRIO_PROCESS, pid) for pid in pids}


async def test_requests_go_before_what_the_parent_does_also_in_a_worker_that_comes_later(tmp_path: Path) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    async with serving(tmp_path) as (_, zonal):
        await until(lambda: priorities([zonal.pid]) == {min(own + 5, 19)}, seconds=20.0)
        assert priorities(workers(zonal.pid)) == {own}
        killed = workers(zonal.pid)[0]
        os.kill(killed, signal.SIGKILL)
        await are_others(zonal, {killed})
        assert priorities(workers(zonal.pid)) == {own}


async def test_all_of_them_show_the_same_certificate_where_no_other_fits_successors_too(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, zonal):
        first = await certificates_shown(zonal)
        assert len(first) == 1
        past = set(workers(zonal.pid))
        for each in past:
            os.kill(each, signal.SIGKILL)
        await are_others(zonal, past)
        assert await certificates_shown(zonal) == first
        for pid in (zonal.pid, *workers(zonal.pid)):
            assert b"PRIVATE KEY" not in command_line(pid) + environment(pid)
        assert "PRIVATE KEY" not in zonal.stderr + json.dumps(await zonal.model())


async def certificates_shown(zonal: Zonal) -> set[str]:
    """The certificates that `MANY` handshakes get."""
    at = "127.0.0.1", zonal.https_port
    return set(await asyncio.gather(*(asyncio.to_thread(ssl.get_server_certificate, at) for _ in range(MANY))))


async def test_a_stopped_one_is_replaced(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, zonal):
        hung = min(workers(zonal.pid))
        os.kill(hung, signal.SIGSTOP)
        await until(lambda: hung not in workers(zonal.pid), seconds=20.0)
        assert await statuses(zonal) == {200: MANY}
        assert "does not answer (SIGKILL)" in zonal.stderr


async def test_one_that_is_told_to_end_hands_over_without_failing_a_request(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, zonal), await Connection.open(zonal.http_port) as kept:
        assert (await kept.get(HOST)).status == 200
        retired = set(workers(zonal.pid))
        for each in retired:
            os.kill(each, signal.SIGTERM)
        answered: Counter[int] = Counter()
        async with asyncio.timeout(30):
            while retired & set(workers(zonal.pid)):
                answered += await statuses(zonal, count=10)
        await are_others(zonal, retired)
        assert set(answered) == {200}
        assert await requests_counted(zonal) == answered.total() + 1


async def test_readiness_is_lost_with_the_last_worker_and_comes_back(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, zonal):
        for each in workers(zonal.pid):
            os.kill(each, signal.SIGKILL)
        assert (await zonal.is_unready()).body == b"no worker\n"
        await zonal.is_ready()
        assert await statuses(zonal) == {200: MANY}


async def test_the_workers_end_with_their_parent(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as opened, started(opened.place, "--workers", str(COUNT)) as zonal:
        await zonal.is_serving()
        left = workers(zonal.pid)
        assert len(left) == COUNT
        zonal.kill()
        await until(lambda: not any(map(lives, left)), seconds=20.0)


async def gated(zonal: Zonal, endpoint: EchoEndpoint) -> asyncio.Task[Response]:
    """A request that has reached the endpoint, which answers when its gate opens."""
    task = asyncio.create_task(get(zonal.http_port, HOST, "/gated"))
    await until(lambda: endpoint.waiting == 1, seconds=20.0)
    return task


async def test_stopping_ends_what_is_in_flight_and_every_worker(tmp_path: Path) -> None:
    async with serving(tmp_path, grace="1") as (opened, zonal), await Connection.open(zonal.http_port) as kept:
        (endpoint,) = opened.endpoints
        slow = await gated(zonal, endpoint)
        left = workers(zonal.pid)
        zonal.tell(signal.SIGTERM)
        assert (await zonal.is_unready()).body == b"draining\n"
        asked = await requests_until_last(kept)
        await refuses(zonal)
        assert zonal.exit_status is None
        endpoint.gate.set()
        assert (await slow).status == 200
        assert await zonal.has_ended() == 0
        assert not any(map(lives, left))
        assert len(zonal.access_lines) == asked + 1
        assert "WARNING" not in zonal.stderr


async def requests_until_last(kept: Connection) -> int:
    """Asks on `kept` until an answer ends it, because a worker hears of the end after its parent. How often."""
    asked = 1
    while not (await kept.get(HOST)).ends_connection:
        asked += 1
    return asked


async def refuses(zonal: Zonal) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                (await Connection.open(zonal.http_port)).close()
            except ConnectionError:
                return


async def test_a_second_signal_ends_every_worker_at_once(tmp_path: Path) -> None:
    async with serving(tmp_path, grace="60") as (opened, zonal):
        slow = await gated(zonal, opened.endpoints[0])
        left = workers(zonal.pid)
        zonal.tell(signal.SIGTERM)
        await zonal.is_unready()
        zonal.tell(signal.SIGTERM)
        assert await zonal.has_ended() == 0
        assert not any(map(lives, left))
        with pytest.raises((ConnectionError, EOFError)):
            await slow


async def test_a_signal_while_workers_start_ends_them_too(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as opened, started(opened.place, "--workers", str(COUNT)) as zonal:
        await until(lambda: len(workers(zonal.pid)) == COUNT, seconds=20.0)
        left = workers(zonal.pid)
        zonal.tell(signal.SIGTERM)
        assert await zonal.has_ended() == 0
        assert not any(map(lives, left))
        assert "Traceback" not in zonal.stderr


async def test_what_a_worker_says_names_it(tmp_path: Path) -> None:
    async with serving(tmp_path, "--log-format", "json") as (_, zonal):
        os.kill(workers(zonal.pid)[0], signal.SIGTERM)
        await until(lambda: "told to end" in zonal.stderr, seconds=20.0)
        (line,) = (line for line in zonal.stderr.splitlines() if "told to end" in line)
        assert json.loads(line)["worker"] in range(COUNT)


@pytest.mark.parametrize("number", ["1", "0"])
async def test_what_one_tenant_writes_ends_stales_and_truncates_nothing(tmp_path: Path, number: str) -> None:
    huge = {"nginx.ingress.kubernetes.io/proxy-body-size": "99999999999g"}
    async with serving(tmp_path, "--workers", number) as (opened, zonal):
        before = set(workers(zonal.pid))
        opened.folder.write("evil.yaml", ingress("evil", rule("evil.test", path("/", "cart")), annotations=huge))
        await served(zonal, "evil.test", 200)
        assert await statuses(zonal, count=10) == {200: 10}
        (finding,) = [each for each in await zonal.findings() if each["name"] == "evil"]
        assert "proxy-body-size" in finding["message"]
        for each in before:
            os.kill(each, signal.SIGKILL)
        await served(zonal, HOST, 200)
        opened.folder.write("evil.yaml", ingress("evil", rule("good.test", path("/", "cart"))))
        await served(zonal, "good.test", 200)
        assert zonal.exit_status is None
        assert (await zonal.admin("/readyz")).status == 200


async def served(zonal: Zonal, host: str, status: int) -> None:
    async with asyncio.timeout(30):
        while (await get(zonal.http_port, host, "/")).status != status:
            pass

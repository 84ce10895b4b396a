"""Stopping: SIGTERM drains without failing a request, SIGINT skips the grace period, a second signal stops at once."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fakes.backends import EchoEndpoint
from tests.integration.manifests import ManifestFolder, ingress, path, rule
from tests.integration.processes import children
from tests.integration.running import Zonal, running, started, until
from tests.integration.shop import HOST, shop
from tests.integration.wire import Connection, Response, get

_LONG = "60"  # seconds of grace or drain that no test waits for


async def client_until_closed(port: int) -> list[int]:
    """Send requests, reconnecting whenever an answer ends the connection, until the port refuses; their statuses."""
    statuses: list[int] = []
    while True:
        try:
            connection = await Connection.open(port)
        except ConnectionRefusedError:
            return statuses
        except ConnectionResetError:
            continue  # closed between the two packets of the handshake; the next attempt tells
        async with connection:
            ends = False
            while not ends:
                try:
                    response = await connection.get(HOST)
                except (ConnectionError, EOFError):
                    if await is_closed(port):
                        return statuses  # queued by the kernel, never accepted
                    raise
                statuses.append(response.status)
                ends = response.ends_connection


async def is_closed(port: int) -> bool:
    try:
        (await Connection.open(port)).close()
    except ConnectionError:
        return True
    return False


@pytest.mark.parametrize("event_loop", ["asyncio", "uvloop"])
async def test_stopping_under_load_fails_no_request(tmp_path: Path, event_loop: str) -> None:
    async with shop(tmp_path) as place, running(place.place, "--event-loop", event_loop, grace="1") as zonal:
        async with asyncio.TaskGroup() as group:
            clients = [group.create_task(client_until_closed(zonal.http_port)) for _ in range(16)]
            await until(lambda: sum(endpoint.requests for endpoint in place.endpoints) > 500, seconds=20.0)
            told_at = time.monotonic()
            zonal.tell(signal.SIGTERM)
        assert time.monotonic() - told_at >= 1.0
        assert await zonal.has_ended(seconds=5.0) == 0
    statuses = [status for client in clients for status in client.result()]
    assert set(statuses) == {200}
    assert len(statuses) >= 500
    logged = len(zonal.access_lines)
    assert logged == len(statuses), "every request has its line, also at the very end"


async def test_while_draining_every_answer_ends_its_connection(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, {"zone-a": 1}) as place,
        running(place.place, grace=_LONG) as zonal,
        await Connection.open(zonal.http_port) as kept,
    ):
        assert not (await kept.get(HOST)).ends_connection
        zonal.tell(signal.SIGTERM)
        await zonal.is_unready()
        assert (await kept.get(HOST)).ends_connection
        assert (await get(zonal.http_port, HOST)).ends_connection
        assert (await get(zonal.http_port, "unknown.test")).ends_connection
        zonal.tell(signal.SIGINT)
        assert await zonal.has_ended(seconds=5.0) == 0


async def gated_request(zonal: Zonal, endpoint: EchoEndpoint) -> asyncio.Task[Response]:
    """A request that has reached the endpoint, which answers when its gate opens."""
    task = asyncio.create_task(get(zonal.http_port, HOST, "/gated"))
    await until(lambda: endpoint.waiting == 1, seconds=5.0)
    return task


async def test_what_is_in_flight_is_finished(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place, grace="0") as zonal:
        (endpoint,) = place.endpoints
        slow = await gated_request(zonal, endpoint)
        zonal.tell(signal.SIGTERM)
        await refuses(zonal.http_port)
        assert zonal.exit_status is None
        endpoint.gate.set()
        assert (await slow).status == 200
        assert await zonal.has_ended(seconds=5.0) == 0


async def refuses(port: int) -> None:
    async with asyncio.timeout(30):
        while not await is_closed(port):
            pass


async def test_what_is_in_flight_is_cut_at_the_limit(tmp_path: Path) -> None:
    options = ("--drain-timeout", "0.3")
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place, *options, grace="0") as zonal:
        slow = await gated_request(zonal, place.endpoints[0])
        zonal.tell(signal.SIGTERM)
        assert await zonal.has_ended(seconds=5.0) == 0
        with pytest.raises((ConnectionError, EOFError)):
            await slow


async def test_an_idle_connection_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, {"zone-a": 1}) as place,
        running(place.place, grace="0") as zonal,
        await Connection.open(zonal.http_port) as used,
        await Connection.open(zonal.http_port),
    ):
        assert (await used.get(HOST)).status == 200
        zonal.tell(signal.SIGTERM)
        assert await zonal.has_ended(seconds=5.0) == 0


async def test_sigint_skips_the_grace_period(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place, grace=_LONG) as zonal:
        slow = await gated_request(zonal, place.endpoints[0])
        zonal.tell(signal.SIGINT)
        await refuses(zonal.http_port)
        place.endpoints[0].gate.set()
        assert (await slow).status == 200
        assert await zonal.has_ended(seconds=5.0) == 0


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_stops_at_once(tmp_path: Path, second: signal.Signals) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place, grace=_LONG) as zonal:
        slow = await gated_request(zonal, place.endpoints[0])
        zonal.tell(signal.SIGTERM)
        await zonal.is_unready()
        zonal.tell(second)
        assert await zonal.has_ended(seconds=3.0) == 0
        with pytest.raises((ConnectionError, EOFError)):
            await slow


async def test_sigquit_drains_as_sigterm_does(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place, grace=_LONG) as zonal:
        zonal.tell(signal.SIGQUIT)
        await zonal.is_unready()
        assert (await get(zonal.http_port, HOST)).status == 200
        zonal.tell(signal.SIGQUIT)
        assert await zonal.has_ended(seconds=5.0) == 0


async def test_each_step_of_a_drain_has_a_line_in_the_log(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place, grace="0.1") as zonal:
        slow = await gated_request(zonal, place.endpoints[0])
        zonal.tell(signal.SIGTERM)
        await until(lambda: " left after " in zonal.stderr, seconds=20.0)
        place.endpoints[0].gate.set()
        assert (await slow).status == 200
        assert await zonal.has_ended(seconds=20.0) == 0
        said = [line.split(": ", 1)[1] for line in zonal.stderr.splitlines() if " INFO " in line]
    steps = [
        r"SIGTERM: drains; /readyz says 503 from now on",
        r"draining: new connections are accepted for 0\.1 s more, and each answer ends its connection",
        r"draining: the ports are closed after \d+\.\d s; connections have 240 s to end",
        r"draining: 1 client connection is left after \d+\.\d s",
        r"drained: all workers are gone after \d+\.\d s",
        r"ends \d+\.\d s after SIGTERM",
    ]
    found = [step for line in said for step in steps if re.fullmatch(step, line)]
    assert found == steps, said


@pytest.mark.parametrize("workers", ["0", "2"])
async def test_signals_that_mean_something_to_other_servers_change_nothing(tmp_path: Path, workers: str) -> None:
    numbers = signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place, "--workers", workers) as zonal:
        of_workers = children(zonal.pid)
        for number in numbers:
            zonal.tell(number)
            for pid in of_workers:
                os.kill(pid, number)
        for number in numbers[:-1]:
            await until(lambda name=number.name: f"{name} is ignored: " in zonal.stderr, seconds=20.0)  # type: ignore[misc]
        assert (await get(zonal.http_port, HOST)).status == 200
        assert children(zonal.pid) == of_workers


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
async def test_such_a_signal_during_start_up_changes_nothing_either(tmp_path: Path, number: signal.Signals) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, started(place.place, "--workers", "2", anew=True) as zonal:
        await until(lambda: ignores(zonal.pid, number), seconds=20.0)
        while "\n" not in zonal.stdout:
            for pid in (zonal.pid, *children(zonal.pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            await asyncio.sleep(0.01)
            assert zonal.exit_status is None
        await zonal.is_serving()
        await zonal.is_ready()
        assert "has ended" not in zonal.stderr
        assert (await get(zonal.http_port, HOST)).status == 200
        zonal.tell(signal.SIGINT)
        assert await zonal.has_ended(seconds=20.0) == 0


def ignores(pid: int, number: signal.Signals) -> bool:
    """Whether the process has made up its mind about a signal (proc(5), status)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, mask = line.partition(":")
        if name == "SigIgn":
            return bool(int(mask, 16) >> (number - 1) & 1)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_at_the_very_start_ends_it_soon(tmp_path: Path, number: signal.Signals) -> None:
    async with started(ManifestFolder(tmp_path / "manifests").place, anew=True) as zonal:
        zonal.tell(number)
        await zonal.has_ended(seconds=2.0)
        assert zonal.stdout == ""


_IN_THE_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""Words before a command that ignores SIGINT from its beginning, as a job in the background of a script does."""


@pytest.mark.parametrize(
    ("number", "through", "status", "said"),
    [
        (signal.SIGTERM, (), 0, r".* INFO ingress\.app: SIGTERM: ends before anything was served\n"),
        (signal.SIGINT, (), 130, ""),  # somebody at a terminal knows
        (signal.SIGINT, _IN_THE_BACKGROUND, 130, ""),
    ],
    ids=["SIGTERM", "SIGINT", "SIGINT in the background"],
)
async def test_a_signal_while_it_reads_the_manifests_ends_it_soon(
    tmp_path: Path, number: signal.Signals, through: tuple[str, ...], status: int, said: str
) -> None:
    """Although the thread that reads them goes on for several times as long as the end may take."""
    folder = ManifestFolder(tmp_path / "manifests")
    documents = (json.dumps(ingress(f"web-{n}", rule(f"{n}.test", path("/", "cart")))) for n in range(10_000))
    folder.write_text("all.yaml", "\n---\n".join(documents))
    async with started(folder.place, anew=True, through=through) as zonal:
        await until(lambda: _has_sockets(zonal.pid), seconds=20.0)
        zonal.tell(number)
        assert await zonal.has_ended(seconds=2.0) == status
        assert zonal.stdout == ""
        assert re.fullmatch(said, zonal.stderr)


def _has_sockets(pid: int) -> bool:
    """Whether the process has opened its sockets, which it does before it reads the manifests."""
    opened = 0
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        try:
            opened += os.readlink(f"/proc/{pid}/fd/{descriptor}").startswith("socket:")
        except OSError:
            continue
    return opened >= 4  # the event loop's own pair, and the two listeners

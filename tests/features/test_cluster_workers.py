"""Workers know nothing of the cluster but what is published; bursts and large clusters reach every one of them."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint
from tests.fakes.stopwatch import Stopwatch
from tests.features.cluster.load import serving_app, under_load
from tests.features.cluster.stage import Stage, becomes, staged
from tests.features.faults.crew import Crew, endpoint_of, line_to
from tests.features.faults.load import Ledger, honest
from tests.features.faults.stage import Place, Record, slice_of
from tests.features.faults.startups import Notes
from tests.integration.manifests import Document, ManifestFolder, ingress, path, rule, service
from tests.integration.processes import called, command_line, environment, usage, workers
from tests.integration.wire import get

TOKEN = "a-token-that-no-worker-may-hold"
FOREIGN = ("kubernetes_asyncio", "ingress", "aiohttp", "cryptography")
"""Packages of the control plane and of making certificates, which a worker does not even import."""

_SEEN_WITHIN_SECONDS = 1.0
_UPDATES = 3000
_UPDATES_A_SECOND = 1000
_AT_ONCE = 20
_FILLERS = 100
_HOSTS = 500


async def test_a_worker_imports_nothing_of_the_control_plane_and_holds_no_token(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    async with staged(tmp_path) as stage:
        await stage.shop()
        zonal = await stage.ready("--workers=2", token=TOKEN, environment=notes.environment)
        crew = workers(zonal.pid)
        assert len(crew) == 2
        assert (await get(zonal.http_port, "shop.test")).status == 200
        api_port = urlsplit(stage.server.url).port
        # What is looked for is there to be found in the parent, or the rest would show nothing.
        assert _packages(notes.imported(zonal.pid)).issuperset(FOREIGN)
        assert any(name.endswith("kubeconfig") for name in notes.opened(zonal.pid))
        assert api_port in called(zonal.pid)
        assert _holds(zonal.pid, TOKEN.encode())
        for pid in crew:
            imported = _packages(notes.imported(pid))
            assert "balancer" in imported
            assert not imported.intersection(FOREIGN)
            assert not [name for name in notes.opened(pid) if "kubeconfig" in name or "serviceaccount" in name]
            assert api_port not in called(pid)
            assert TOKEN.encode() not in environment(pid) + command_line(pid)
            assert not _holds(pid, TOKEN.encode())


def _packages(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def _holds(pid: int, text: bytes) -> bool:
    """Whether a text is anywhere in the memory of a child's process."""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if match is None:
                continue
            start, end = (int(each, 16) for each in match.groups())
            memory.seek(start)
            try:
                if text in memory.read(end - start):
                    return True
            except OSError:
                continue  # a device's or a guard page
    return False


@pytest.mark.faults
@pytest.mark.alone
@pytest.mark.slow
async def test_p06_a_burst_of_slices_fails_no_request_and_reaches_every_worker(
    tmp_path: Path, record_property: Record
) -> None:
    async with (
        staged(tmp_path) as stage,
        ScriptedEndpoint(honest(Ledger(), "last")) as last,
        serving_app(stage, endpoints=1) as app,
    ):
        _put_fillers(stage)
        crew = await _crew(stage)
        async with AsyncExitStack() as stack, under_load(crew.zonal, rate=60) as load:
            lines = [await stack.enter_async_context(line_to(crew, pid)) for pid in crew.workers]
            generation, began_at = await crew.zonal.generation(), time.monotonic()
            await _burst(stage)
            seconds = time.monotonic() - began_at
            publications = await crew.zonal.generation() - generation
            stage.put(_renamed(slice_of("app", last), slice_of("app", app.endpoints[0])))
            reached = [await becomes(partial(_leads_to, line, "last")) for line in lines]
    record_property("updates a second", _UPDATES / seconds)
    record_property("publications", publications)
    record_property("seconds until every worker serves the last", sum(reached))
    record_property("slowest answer", load.percentile_seconds(1.0))
    assert sum(reached) <= _SEEN_WITHIN_SECONDS
    assert publications < _UPDATES / 10, "a burst is not published piece by piece"


def _put_fillers(stage: Stage) -> None:
    for number in range(_FILLERS):
        name = f"filler-{number}"
        stage.put(service(name), ingress(name, rule(f"{name}.test", path("/", name))))


async def _burst(stage: Stage) -> None:
    """So many updates of slices, at a steady rate unless this machine is too slow for it."""
    began_at = time.monotonic()
    for number in range(_UPDATES):
        if number % _AT_ONCE == 0:
            await asyncio.sleep(max(0.0, began_at + number / _UPDATES_A_SECOND - time.monotonic()))
        place = Place(f"127.9.{number // _FILLERS % 250}.1", 80)
        name = f"filler-{number % _FILLERS}"
        stage.put(_renamed(slice_of(name, place), {"metadata": {"name": name}}))


def _renamed(document: Document, other: Document) -> Document:
    """The same object as `other`, with the content of `document`."""
    return {**document, "metadata": {**document["metadata"], "name": other["metadata"]["name"]}}


async def _leads_to(line: RawClient, name: str) -> bool:
    return await endpoint_of(line, "whose") == name


@pytest.mark.faults
@pytest.mark.alone
@pytest.mark.slow
async def test_p07_a_new_process_is_ready_with_all_that_there_is_in_every_worker(
    tmp_path: Path, record_property: Record
) -> None:
    async with staged(tmp_path) as stage, serving_app(stage, endpoints=1):
        for number in range(_HOSTS):
            name = f"host-{number}"
            places = [Place(f"127.{1 + number % 200}.{number // 200}.{each}", 80) for each in range(1, 5)]
            stage.put(ingress(name, rule(f"{name}.test", path("/", "app"))), service(name))
            stage.put(*(slice_of(name, place) for place in places))
        since_began = Stopwatch()
        crew = await _crew(stage)
        record_property("seconds until ready", since_began.seconds)
        for pid in crew.workers:
            record_property(f"MiB of worker {pid}", getattr(usage(pid), "private_bytes", 0) / 2**20)
            async with line_to(crew, pid) as line:
                for number in range(_HOSTS):
                    request = f"GET /1/{number} HTTP/1.1\r\nHost: host-{number}.test\r\n\r\n"
                    assert (await line.ask(request.encode())).status == 200
    assert since_began.seconds <= 30.0


async def _crew(stage: Stage) -> Crew:
    """Two workers of a process that follows the stage's cluster, and is ready."""
    return Crew(await stage.ready("--workers=2"), ManifestFolder(stage.place / "manifests"), Ledger())

"""Whatever the API server does, what was known is served (K08 to K23), and what has changed is known soon after."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.apiserver import ApiServer, Call, Fault
from tests.fakes.stopwatch import Stopwatch
from tests.features.cluster.load import serving_app, under_load
from tests.features.cluster.stage import (
    Stage,
    answers,
    becomes,
    forget_peak,
    has_finding,
    has_no_finding,
    peak_bytes,
    resident_bytes,
    staged,
    status_of,
)
from tests.features.faults.load import HOST, Load
from tests.features.faults.stage import Record, slice_of
from tests.integration.manifests import Document, ingress, path, rule, service
from tests.integration.running import Zonal, until

pytestmark = pytest.mark.faults

MIB = 1024 * 1024
LISTS_A_KIND = 3
RETURN_LIMIT_SECONDS = 5.0
GHOST = "ghost.test"
KINDS = {"ingresses", "ingressclasses", "services", "endpointslices", "configmaps"}


def is_list(call: Call) -> bool:
    return call.verb == "list" or "sendInitialEvents" in call.query


@asynccontextmanager
async def staying_ready(zonal: Zonal) -> AsyncIterator[None]:
    """As long as the context lasts, the process says that it is ready; it is asked ten times a second."""
    statuses, is_over = set[int](), asyncio.Event()

    async def ask() -> None:
        while not is_over.is_set():
            statuses.add((await zonal.admin("/readyz")).status)
            await asyncio.sleep(0.1)

    asking = asyncio.create_task(ask())
    try:
        yield
    finally:
        is_over.set()
        await asking
    assert statuses == {200}


async def outage(stage: Stage, *, seconds: float) -> None:
    """The API server is away for so long; calls from its return on are in `calls`."""
    await stage.server.stop()
    await asyncio.sleep(seconds)
    stage.server.calls.clear()
    await stage.server.start()


async def survives_an_outage(stage: Stage, *, away_seconds: float, scale: float, record: Record) -> None:
    async with serving_app(stage):
        zonal = await stage.ready(scale=scale)
        async with under_load(zonal) as load, staying_ready(zonal):
            await outage(stage, seconds=away_seconds)
            stage.put(ingress("late", rule("late.test", path("/", "app"))))
            known = await answers(zonal, 200, "late.test", seconds=RETURN_LIMIT_SECONDS)
            await back_again(stage, seconds=RETURN_LIMIT_SECONDS)
        lists = Counter(call.resource for call in stage.server.calls if is_list(call))
        assert not lists or max(lists.values()) <= LISTS_A_KIND
        first = {call.resource: call.at for call in reversed(stage.server.calls) if call.resource in KINDS}
        spread = max(first.values()) - min(first.values())
        assert spread > 0.1 * scale, "reflectors must not come back in step"
        record("requests", len(load.answers))
        record("slowest request, seconds", round(load.percentile_seconds(1.0), 3))
        record("change known after the return, seconds", round(known, 3))
        record("first calls of the kinds spread over, seconds", round(spread, 3))
        record("lists of a kind, most", max(lists.values(), default=0))


async def back_again(stage: Stage, *, seconds: float) -> None:
    """Wait until every kind is watched again."""

    async def is_so() -> bool:
        return {call.resource for call in stage.server.calls if call.is_watch} >= KINDS

    await becomes(is_so, seconds=seconds)


async def test_k09_an_api_server_that_is_away_for_5_s_is_not_noticed(tmp_path: Path, record_property: Record) -> None:
    async with staged(tmp_path) as stage:
        await survives_an_outage(stage, away_seconds=5.0, scale=0.1, record=record_property)


@pytest.mark.slow
async def test_k09_an_api_server_that_is_away_for_60_s_at_real_times_is_not_noticed(
    tmp_path: Path, record_property: Record
) -> None:
    async with staged(tmp_path) as stage:
        await survives_an_outage(stage, away_seconds=60.0, scale=1.0, record=record_property)


async def test_an_outage_is_one_warning_and_no_protection_is_said_to_be_missing(tmp_path: Path) -> None:
    writing = ("--update-status=true", "--publish-status-address=203.0.113.7")
    async with staged(tmp_path) as stage, serving_app(stage):
        zonal = await stage.ready(*writing, scale=0.3)
        await stage.server.until_calls(lambda call: call.subresource == "status")
        before = len(zonal.stderr)
        await stage.server.stop()
        finding = await has_finding(zonal, "ApiServer", "ApiUnreachable")
        await until(lambda: "ApiUnreachable" in zonal.stderr[before:], seconds=20.0)
        await until(lambda: "no longer leads" in zonal.stderr[before:], seconds=20.0)
        assert finding["severity"] == "degraded"
        assert [each for each in await zonal.findings() if each["severity"] in ("unprotected", "closed")] == []
        assert " since 20" in finding["message"]
        assert "uses what it read last" in finding["effect"]
        await stage.server.start()
        await has_no_finding(zonal, "ApiServer", "ApiUnreachable")
        await until(lambda: "this replica leads" in zonal.stderr[before:], seconds=20.0)
        warnings = [line for line in zonal.stderr[before:].splitlines() if " WARNING " in line or " ERROR " in line]
        assert len(warnings) == 1, warnings


async def is_late_to_an_api_server(stage: Stage, *, away_seconds: float) -> float:
    """Start a process while the API server is away; the seconds to readiness after it has come."""
    await stage.server.stop()
    zonal = await stage.started(scale=1.0)
    deadline = time.monotonic() + away_seconds
    while time.monotonic() < deadline:
        assert ((await zonal.admin("/readyz")).status, (await zonal.admin("/livez")).status) == (503, 200)
        await asyncio.sleep(0.1)
    assert zonal.exit_status is None
    await stage.server.start()
    watch = Stopwatch()
    await zonal.is_ready()
    assert await status_of(zonal, HOST) == 200
    return watch.seconds


async def test_k20_an_api_server_that_is_away_at_the_start_is_waited_for(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, serving_app(stage):
        seconds = await is_late_to_an_api_server(stage, away_seconds=0.5)
        assert seconds <= 2 * RETURN_LIMIT_SECONDS, "twice, for a loaded machine"


@pytest.mark.slow
async def test_k20_an_api_server_that_was_away_for_45_s_at_the_start_makes_it_ready_within_5_s(
    tmp_path: Path, record_property: Record
) -> None:
    async with staged(tmp_path) as stage, serving_app(stage):
        seconds = await is_late_to_an_api_server(stage, away_seconds=45.0)
        record_property("K20 ready after 45 s away, seconds", round(seconds, 3))
        assert seconds <= RETURN_LIMIT_SECONDS


async def test_k08_what_was_deleted_behind_our_back_goes_with_the_next_list(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, serving_app(stage):
        stage.put(ingress("ghost", rule(GHOST, path("/", "app"))))
        zonal = await stage.ready()
        assert await status_of(zonal, GHOST) == 200
        async with under_load(zonal):
            stage.server.faults.add(Fault(resource="ingresses", omit_deleted=True))
            stage.server.delete("Ingress", "shop", "ghost")
            stage.put(ingress("late", rule("late.test", path("/", "app"))))
            await answers(zonal, 200, "late.test")
            assert await status_of(zonal, GHOST) == 200, "nobody has said that it is gone"
            stage.relist()
            await answers(zonal, 404, GHOST)


async def test_k08_a_410_after_an_outage_with_a_deletion_meanwhile_leaves_no_ghost(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, serving_app(stage):
        stage.put(ingress("ghost", rule(GHOST, path("/", "app"))))
        zonal = await stage.ready()
        async with under_load(zonal), staying_ready(zonal):
            await stage.server.stop()
            stage.server.delete("Ingress", "shop", "ghost")
            stage.relist()
            await stage.server.start()
            await answers(zonal, 404, GHOST)


async def test_k12_a_single_empty_list_drops_no_route(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, serving_app(stage):
        zonal = await stage.ready()
        generation = await zonal.generation()
        resources = ("ingresses", "services", "endpointslices", "ingressclasses")
        async with under_load(zonal):
            for resource in resources:
                await show_one_empty_list(stage, resource)
                stage.put(ingress(resource, rule(f"{resource}.test", path("/", "app"))))
                await answers(zonal, 200, f"{resource}.test")
        assert await zonal.generation() == generation + len(resources), "nothing but the new Ingresses was published"


async def show_one_empty_list(stage: Stage, resource: str) -> None:
    """The next list of the kind is empty; returns once the one after it has come."""
    fault = stage.server.faults.add(Fault(resource=resource, empty_list=True, times=1, matches=is_list))
    stage.relist()
    stage.server.calls.clear()
    await stage.server.until_calls(lambda call: call.resource == resource and is_list(call), 2)
    assert fault.used == 1


async def test_k12_an_empty_list_that_is_confirmed_is_believed(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, serving_app(stage):
        zonal = await stage.ready()
        stage.server.faults.add(Fault(resource="ingresses", empty_list=True, matches=is_list))
        stage.relist()
        await answers(zonal, 404, HOST)


async def test_k12_a_refusal_after_the_first_list_drops_no_route_and_a_finding_tells(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, serving_app(stage):
        zonal = await stage.ready()
        async with under_load(zonal), staying_ready(zonal):
            for status, reason in ((401, "ApiRejected"), (403, "ApiForbidden"), (503, "ApiUnreachable")):
                stage.server.faults.add(Fault(status=status))
                stage.server.cut_watches()
                kinds = ("Ingress", "Service", "EndpointSlice", "IngressClass", "ConfigMap")
                for kind in kinds if status == 403 else ("ApiServer",):
                    assert (await has_finding(zonal, kind, reason))["severity"] == "degraded"
                stage.server.faults.clear()
                await has_no_finding(zonal, kind, reason)
                stage.put(ingress(f"after-{status}", rule(f"after-{status}.test", path("/", "app"))))
                await answers(zonal, 200, f"after-{status}.test")


def named(document: Document, name: str) -> Document:
    return {**document, "metadata": {**document["metadata"], "name": name}}


async def test_k17_endpoints_that_move_between_the_slices_of_a_service_are_never_missed(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, serving_app(stage, endpoints=3) as app:
        for document in stage.server.objects("EndpointSlice"):
            stage.server.delete("EndpointSlice", "shop", document["metadata"]["name"])
        contents = [slice_of("app", each) for each in app.endpoints]
        names = [f"app-{number}" for number in range(3)]
        stage.put(*map(named, contents, names))
        zonal = await stage.ready()
        async with under_load(zonal) as load:
            for turn in range(1, 16):
                for number, name in enumerate(names):
                    stage.put(named(contents[(number + turn) % 3], name))
                    await asyncio.sleep(0.03)
        assert {answer.endpoint for answer in load.answers} == {"0", "1", "2"}


async def test_k17_the_only_endpoint_moves_to_another_slice_without_a_gap(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, serving_app(stage, endpoints=1) as app:
        (first,) = stage.server.objects("EndpointSlice")
        content, name = slice_of("app", app.endpoints[0]), first["metadata"]["name"]
        zonal = await stage.ready()
        async with under_load(zonal):
            for turn in range(12):
                stage.server.delete("EndpointSlice", "shop", name)
                name = f"app-{turn}"
                stage.put(named(content, name))
                await asyncio.sleep(0.08)


def padded(document: Document, size: int) -> Document:
    """The same object with so many bytes that nobody reads, where the API server keeps who wrote what."""
    fields = [{"manager": "test", "fieldsV1": {f"f:{'x' * size}": {}}}]
    return {**document, "metadata": {**document["metadata"], "managedFields": fields}}


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "paged"])
async def test_k15_objects_of_1_4_mib_are_listed_and_watched(tmp_path: Path, streaming: bool) -> None:
    size = int(1.4 * MIB)
    server = ApiServer(streaming_lists=streaming)
    async with staged(tmp_path, server) as stage, serving_app(stage) as app:
        contents = [slice_of("app", each) for each in app.endpoints]
        stage.put(*(padded(each, size) for each in contents), padded(service("app"), size))
        zonal = await stage.ready()
        async with under_load(zonal):
            stage.put(padded(service("late"), size))
            stage.put(padded(named(slice_of("late", app.endpoints[0]), "late"), size))
            stage.put(padded(ingress("late", rule("late.test", path("/", "late"))), size))
            await answers(zonal, 200, "late.test")
            stage.server.delete("EndpointSlice", "shop", "late")
            await answers(zonal, 503, "late.test")
        assert not [each for each in await zonal.findings() if each["reason"] == "Unreadable"]


async def test_an_api_server_that_is_slow_at_everything_only_takes_longer(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, serving_app(stage):
        stage.server.faults.add(Fault(delay_seconds=0.3))
        zonal = await stage.ready(scale=1.0)
        async with under_load(zonal), staying_ready(zonal):
            stage.server.cut_watches()
            stage.put(ingress("late", rule("late.test", path("/", "app"))))
            await answers(zonal, 200, "late.test")


@pytest.mark.slow
async def test_k23_a_hundred_thousand_events_that_pile_up_take_little_memory(
    tmp_path: Path, record_property: Record
) -> None:
    async with staged(tmp_path, ApiServer(history=200_000)) as stage, serving_app(stage, endpoints=1) as app:
        names = [f"many-{number}" for number in range(100)]
        stage.put(*(named(slice_of(name, app.endpoints[0]), name) for name in names), *map(service, names))
        zonal = await stage.ready(scale=1.0, anew=True)
        load = Load(zonal.http_port)
        await load.wave(50, posts=False)
        before = resident_bytes(zonal)
        forget_peak(zonal)
        zonal.tell(signal.SIGSTOP)  # a handler that sleeps, and everything with it
        for number in range(100_000):
            name = names[number % len(names)]
            document = named(slice_of(name, app.endpoints[0]), name)
            document["metadata"]["labels"]["turn"] = str(number)
            stage.put(document)
            if number % 500 == 0:
                await asyncio.sleep(0)
        zonal.tell(signal.SIGCONT)
        stage.put(ingress("late", rule("late.test", path("/", "app"))))
        stage.put(service("last"), named(slice_of("last", app.endpoints[0]), "last"))
        stage.put(ingress("last", rule("last.test", path("/", "last"))))
        known = await answers(zonal, 200, "last.test", seconds=120.0)
        growth = peak_bytes(zonal) - before
        record_property("K23 peak of memory above before, MiB", round(growth / MIB, 1))
        record_property("K23 backlog worked off after seconds", round(known, 2))
        assert growth < 50 * MIB
        await load.wave(50, posts=True)
        load.close()
        assert load.failures == []


@pytest.mark.parametrize(
    ("was_there", "is_hung"), [(True, False), (True, True), (False, True)], ids=["away", "hung", "hung from the start"]
)
async def test_sigterm_while_the_api_server_is_away_ends_the_process_soon(
    tmp_path: Path, record_property: Record, was_there: bool, is_hung: bool
) -> None:
    scale = 0.3  # a request about the Lease takes 3.75 s at most, and giving it up is two
    async with staged(tmp_path) as stage, serving_app(stage):
        writing = ("--update-status=true", "--publish-status-address=203.0.113.7")
        if was_there:
            zonal = await stage.ready(*writing, scale=scale)
            await stage.server.until_calls(lambda call: call.subresource == "status")
        if is_hung:
            stage.server.faults.add(Fault(stall=True))
            stage.server.cut_watches()
        else:
            await stage.server.stop()
        if not was_there:
            zonal = await stage.started(*writing, scale=scale)
        watch = Stopwatch()
        await zonal.stop()
        seconds = watch.seconds
        record_property("ended after SIGTERM at 0.3 of the times, seconds", round(seconds, 3))
        assert seconds < 2 * 3.75 * scale + 5.0

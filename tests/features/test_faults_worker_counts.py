"""What `/metrics` says of requests is exact whoever served them: nothing that was counted is lost with its worker."""

from __future__ import annotations

import os
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.cluster.stage import becomes
from tests.features.faults.crew import Crew, Strike, TracedLoad, crewed, line_to, sending, unexplained
from tests.features.faults.load import Ledger, honest, request_of
from tests.integration.manifests import ingress, path, rule
from tests.integration.processes import lives
from tests.integration.running import until

pytestmark = [pytest.mark.faults, pytest.mark.alone]


async def _requests(crew: Crew) -> Counter[str]:
    """The requests counted, by the name of their Ingress; those without a route under an empty one."""
    found: Counter[str] = Counter()
    for sample in (await crew.zonal.metrics())["zonal_requests"].samples:
        if sample.name == "zonal_requests_total":
            found[sample.labels["ingress"]] += int(sample.value)
    return found


async def _all_counted(crew: Crew, expected: dict[str, int]) -> None:
    """Wait for exactly these counts, of Ingresses at least; a request is counted a moment after its answer."""

    async def is_so() -> bool:
        counted = await _requests(crew)
        return counted == Counter({"": counted[""], **expected})

    await becomes(is_so, seconds=5.0)


async def test_counts_outlive_the_workers_that_counted(tmp_path: Path) -> None:
    ledger, sent = Ledger(), Counter[str]()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        crewed(tmp_path, {"app": [endpoint]}, ledger=ledger) as crew,
    ):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            for pid in crew.workers:
                async with line_to(crew, pid) as line:
                    for each in range(5):
                        await line.ask(request_of(f"{number}-{each}", 100))
                    await line.ask(b"GET / HTTP/1.1\r\nHost: unknown.test\r\n\r\n")
                sent.update({"web": 5, "": 1})
            await _all_counted(crew, sent)
            ended = crew.workers[0]
            os.kill(ended, number)
            await until(lambda pid=ended: not lives(pid), seconds=10.0)  # type: ignore[misc]
            await crew.is_whole(2)
            assert await _requests(crew) == sent, "after a worker's end"


async def test_what_was_answered_before_a_kill_under_load_is_counted(tmp_path: Path) -> None:
    ledger, strikes = Ledger(), list[Strike]()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        crewed(tmp_path, {"app": [endpoint]}, ledger=ledger) as crew,
    ):
        load, fresh = TracedLoad(crew.port), TracedLoad(crew.port, keeps=False)
        async with sending((load, 60), (fresh, 60)):
            for _ in range(2):
                strikes.append(crew.kill(crew.workers[0]))
                await crew.replaced(strikes[-1])
        answered, failed = len(load.answers + fresh.answers), len(load.failures + fresh.failures)

        async def is_counted() -> bool:
            return answered - len(strikes) <= (await _requests(crew))["web"] <= answered + failed

        await becomes(is_counted, seconds=5.0)
    # A kill may fall between an answer and its count: each of the strikes for one request at most.
    assert unexplained([load, fresh], strikes) == []


async def test_series_of_a_deleted_ingress_disappear_though_every_worker_counted(tmp_path: Path) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        crewed(tmp_path, {"app": [endpoint]}, ledger=ledger) as crew,
    ):
        generation = await crew.zonal.generation()
        crew.folder.write("other.yaml", ingress("other", rule("other.test", path("/", "app"))))
        for pid in crew.workers:
            async with line_to(crew, pid) as line:
                await becomes(partial(_serves_other, line), seconds=5.0)  # what is 404 until then has no Ingress
                await line.ask(request_of("there", 100))
        await _all_counted(crew, {"web": 2, "other": 2})
        (crew.folder.place / "other.yaml").unlink()
        await crew.zonal.reaches_generation(generation + 2, seconds=5.0)
        await _all_counted(crew, {"web": 2})


async def _serves_other(line: RawClient) -> bool:
    return (await line.ask(b"GET /100/here HTTP/1.1\r\nHost: other.test\r\n\r\n")).status == 200

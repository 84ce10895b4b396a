"""The page says what ran, what was promised and measured, and what went wrong."""

from __future__ import annotations

from tests.bench.chaos.course import Outcome
from tests.bench.chaos.goals import judged
from tests.bench.chaos.page import page
from tests.bench.peers.results import Machine
from tests.bench.soak.trends import Point
from tests.unit.bench.chaos.outcomes import GOOD, held, served

MACHINE = Machine(
    date="2026-01-01 12:00 UTC",
    processor="a processor",
    cores=2,
    kernel="Linux 1.2",
    load=0.1,
    revision="0123456789",
    versions={},
)


def lines(outcome: Outcome) -> list[str]:
    return page(outcome, judged(outcome), MACHINE).splitlines()


def test_the_page_says_what_ran_and_where() -> None:
    found = lines(GOOD)
    assert found[0] == "# Chaos"
    title = found[4]
    for part in ("1.66667 minutes", "the plain sources", "0123456789", "a processor", "12,345 requests", "20 times"):
        assert part in title
    assert "Not played" not in title
    assert (
        "Not played: keys, silent."
        in lines(GOOD._replace(options=GOOD.options._replace(without={"silent", "keys"})))[4]
    )


def test_every_actor_every_process_and_the_modest_tenant_have_their_figures() -> None:
    found = lines(GOOD)
    assert "**Every goal is met**." in found
    assert "| exit status | ≤ 0 | 0 | met |" in found
    assert "| beside all | HTTP/2 | 1,000 | 0 | 1.0 ms | 20.5 ms | 1,500.0 ms |" in found
    assert "| parent | resident set | 50.0 MiB | 80.0 MiB | 80.0 MiB | 80.0 MiB | 80.0 MiB |" in found
    assert "| floods | 7 | 0 | 3 pings, 4 resets |" in found
    assert "## Hostile tenants" in found
    assert "## Reports" not in found


def test_of_bytes_that_are_allocated_the_page_has_a_row_beside_the_resident_set() -> None:
    outcome = GOOD._replace(
        held=[held("parent", 50, 80, 80, 90, pid=5)],
        allocated={5: [Point(25.0 * quarter, 2.0**20 * (30 + quarter)) for quarter in range(4)]},
        workers_before=[],
        workers_after=[],
    )
    found = lines(outcome)
    assert "**Every goal is met**." in found
    assert "| bytes allocated by the parent: last quarter | ≤ 34.1 MiB | 33.0 MiB | met |" in found
    assert "| parent | allocated | 30.0 MiB | 31.0 MiB | 32.0 MiB | 33.0 MiB | 33.0 MiB |" in found
    assert "| parent | resident set | 50.0 MiB | 80.0 MiB | 80.0 MiB | 90.0 MiB | 90.0 MiB |" in found


def test_what_went_wrong_is_listed() -> None:
    found = lines(
        GOOD._replace(reports=["asan.7: ERROR"], beside=[served("late")], connections_left={"client_idle": 2})
    )
    assert "**3 goals are missed**." in found
    assert {"* `asan.7: ERROR`", "* `HTTP/2: late`", "* `client_idle: 2`"} <= set(found)

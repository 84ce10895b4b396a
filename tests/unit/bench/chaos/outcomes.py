"""An outcome that meets every goal, of which tests spoil one thing each."""

from __future__ import annotations

from tests.bench.chaos.actors import Actor, Played, Turn
from tests.bench.chaos.course import Descriptors, Options, Outcome
from tests.bench.chaos.modest import Served
from tests.bench.soak.sampling import Held
from tests.integration.processes import Usage

SECONDS = 100.0
MEBIBYTE = 1024 * 1024


async def _nothing(_: Turn) -> None: ...


def held(name: str, *mebibytes: int, pid: int = 1) -> Held:
    """A process that held so much, in equal parts of the run."""
    step = SECONDS / len(mebibytes)
    samples = [(step * number, Usage(0, size * MEBIBYTE, 9, 3)) for number, size in enumerate(mebibytes)]
    return Held(name, pid, samples)


def played(name: str, side: str, **counts: int) -> Played:
    one = Played(Actor(name, side, _nothing, pause_seconds=1.0))
    one.turns = 7
    one.counts.update(counts)
    return one


def served(*failures: str) -> Served:
    return Served("HTTP/2", 1_000, list(failures), 0.001, 0.0205, 1.5)


GOOD = Outcome(
    options=Options(seconds=SECONDS, workers="2", rate=20, seed=1),
    build="the plain sources",
    alone=[served()],
    beside=[served()],
    wrong_posts=0,
    played=[played("floods", "client", pings=3, resets=4), played("silent", "endpoint"), played("keys", "tenant")],
    held=[
        held("parent", 50, 80, 80, 80),
        held("worker, the 1.", 40, 60, 60, 61),
        held("worker, the 2.", 40, 60, 60, 61),
    ],
    allocated={},
    began=0.0,
    ended=SECONDS,
    workers_before=[11, 12],
    workers_after=[11, 12],
    restarts=0,
    changes=20,
    answered=12_345,
    rubbish_bytes=0,
    connections_left={"client_active": 0, "client_idle": 0},
    descriptors_before=Descriptors(30, 20),
    descriptors_after=Descriptors(32, 21),
    exit_status=0,
    processes_left=0,
    trouble=[],
    reports=[],
)

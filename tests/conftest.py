"""What holds for every test: how property tests behave on a busy machine, and what garbage collection looks at."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from tests.processes import RULES

# Several suites may share the machine, so a slow example says nothing about the code. The gate takes the same examples
# each time; `--hypothesis-profile=explore` takes others.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("explore"), derandomize=True)
# What a programmer runs after each change looks at few examples, and makes none of them simpler before it is told.
settings.register_profile(
    "unit", settings.get_profile("gate"), max_examples=5, phases=(Phase.explicit, Phase.generate), database=None
)
settings.load_profile("gate")

# Whoever starts the tests in the background of a script, or with nohup, has signals ignored, and every process that a
# test starts would inherit that: what tests say about signals has to hold all the same.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", action="store_true", help="judge times of requests, too; the machine has to be quiet")


@pytest.fixture(scope="session")
def judge_times(request: pytest.FixtureRequest) -> bool:
    """Whether the caller wants times judged (`make faults` does): on a busy machine they say nothing about the code."""
    return bool(request.config.getoption("--times"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests stay to the end, so no search for garbage looks through them, now or later."""
    gc.disable()
    yield
    gc.enable()
    gc.freeze()


class _ByFile(LoadFileScheduling):  # type: ignore[misc]
    """Gives each file to one process. The rules about sources all read the same ones, so they count as one file."""

    def _split_scope(self, nodeid: str) -> str:
        path = str(super()._split_scope(nodeid))
        folder, _, name = path.rpartition("/")
        return folder if folder == RULES else f"{folder}/{name}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _ByFile | None:
    """Only where the caller asks for files (`--dist loadfile`)."""
    return _ByFile(config, log) if config.getoption("dist") == "loadfile" else None

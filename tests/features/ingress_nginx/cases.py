"""The cases as data, and which of them share a start of zonal.

Responsible for the grammar of the file (its `about`). Does not know sockets, nor who judges.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

Json = dict[str, Any]

_FILE = Path(__file__).parents[2] / "cases" / "ingress_nginx.json"

# What makes a case wait. Cases that wait are played side by side.
_WAITING_REQUESTS = frozenset({"apply", "keep", "pause", "raw", "wait"})
_WAITING_ANSWERS = frozenset({"delay", "stall", "trickle"})
_TIMED_EXPECTATIONS = frozenset({"closed", "reads", "statuses", "took"})


class Case(msgspec.Struct, frozen=True):
    """One case as the file has it. `expect` has one entry for each of `requests`."""

    id: str
    group: str
    priority: str
    objects: Json
    requests: list[Json]
    expect: list[Json]
    exclusive: bool = False

    @property
    def namespace(self) -> str:
        return str(self.objects["namespace"])

    @property
    def config(self) -> dict[str, str]:
        return dict(self.objects.get("config", {}))

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(self.objects.get("flags", ()))

    @property
    def waits(self) -> bool:
        """Whether the case takes seconds even if everything is as expected."""
        return (
            any(
                _WAITING_REQUESTS & request.keys() or _WAITING_ANSWERS & request.get("answer", {}).keys()
                for request in self.requests
            )
            or self._waits_for_others
        )

    @property
    def _waits_for_others(self) -> bool:
        return any("hang" in service_endpoints(each) for each in self.objects["services"].values()) or any(
            "wait" in other for expected in self.expect for other in expected.get("others", ())
        )

    @property
    def depends_on_time(self) -> bool:
        """Whether a busy machine may be the reason for a problem."""
        return self.waits or any(_TIMED_EXPECTATIONS & expected.keys() for expected in self.expect)


class Start(NamedTuple):
    """What cases must have in common to share a start of zonal. `alone` is the id of a case that shares with none."""

    config: tuple[tuple[str, str], ...]
    flags: tuple[str, ...]
    alone: str = ""


def service_endpoints(service: Json) -> list[str | None]:
    """How each endpoint of a service is, by its index."""
    endpoints = service.get("endpoints", 1)
    return ["up"] * endpoints if isinstance(endpoints, int) else list(endpoints)


def start_of(case: Case) -> Start:
    """Configuration that names an endpoint is a start of its own, because the endpoint belongs to the case."""
    alone = case.exclusive or any(case.namespace in text or "{endpoint:" in text for text in case.config.values())
    return Start(tuple(sorted(case.config.items())), case.flags, case.id if alone else "")


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case of the file."""
    return tuple(msgspec.convert(json.loads(_FILE.read_text(encoding="utf-8"))["cases"], list[Case]))

"""The cases as data, and which of them are not expected to pass yet.

Responsible for the grammar of the file (its `about`). Does not know sockets, nor who judges.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

Json = dict[str, Any]

_FOLDER = Path(__file__).parents[2] / "cases"


class Step(msgspec.Struct, frozen=True):
    """What changes, and what has to hold then. The first step of a case changes nothing."""

    apply: list[Json] = []
    delete: list[str] = []
    requests: list[Json] = []
    status: list[Json] = []
    conditions_absent: list[str] = []


class Case(msgspec.Struct, frozen=True):
    """One case as the file has it."""

    id: str
    priority: str
    manifests: list[Json]
    backends: dict[str, Json] = {}
    namespaces: dict[str, dict[str, str]] = {}
    secrets: dict[str, Json] = {}
    configmaps: dict[str, Json] = {}
    zone: Json = {}
    needs: list[str] = []
    requests: list[Json] = []
    status: list[Json] = []
    then: list[Step] = []
    source: str = ""

    @property
    def group(self) -> str:
        return self.id.partition("/")[0]

    @property
    def steps(self) -> list[Step]:
        """What has to hold at first, and after each change."""
        return [Step(requests=self.requests, status=self.status), *self.then]

    @property
    def ports(self) -> list[int]:
        """Every port that a listener of the case has at some time."""
        documents = [*self.manifests, *(each for step in self.then for each in step.apply)]
        specs = [each["spec"] for each in documents if isinstance(each.get("spec"), dict)]
        return sorted({listener["port"] for spec in specs for listener in spec.get("listeners", ())})


@cache
def all_cases(name: str = "gateway_api") -> tuple[Case, ...]:
    """Every case of a file: those of the reference, or the `gateway_neighbours` beside them."""
    text = (_FOLDER / f"{name}.json").read_text(encoding="utf-8")
    return tuple(msgspec.convert(json.loads(text)["cases"], list[Case]))

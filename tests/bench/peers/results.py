"""A whole run as one value: what it was made with, what was measured and what is missing. The JSON file is this."""

from __future__ import annotations

import msgspec

from tests.bench.peers.samples import Absence, Sample


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when. `load` is the machine's load average before the run: it should have been near nothing."""

    date: str
    processor: str
    cores: int
    kernel: str
    load: float
    revision: str
    versions: dict[str, str]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `took_seconds` is of all of it."""

    machine: Machine
    rounds: int
    run_seconds: int
    idle_connections: int
    took_seconds: float
    samples: tuple[Sample, ...]
    absences: tuple[Absence, ...]

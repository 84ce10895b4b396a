"""Makes the engine of a connection: chooses the library that reads and writes frames."""

from __future__ import annotations

from balancer.http2.engine import Engine, EngineLimits
from balancer.http2.ngh2_engine import Ngh2Engine


def make_engine(role: bool, limits: EngineLimits) -> Engine:
    """An engine in the `role` of CLIENT or SERVER. Its preface and settings are queued."""
    return Ngh2Engine(role, limits)

"""Says which build of the data plane runs: its plain source, or modules that were compiled from it."""

from __future__ import annotations

from typing import Final

from balancer.runtime import deadlines

COMPILED: Final = "compiled"
PLAIN: Final = "plain"


def build() -> str:
    """`COMPILED` if the typed modules that this process has loaded are compiled, else `PLAIN`."""
    return PLAIN if str(deadlines.__file__).endswith(".py") else COMPILED

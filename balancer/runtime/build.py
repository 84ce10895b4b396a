"""Says which build of the data plane runs: its plain source, or modules that were compiled from it."""

from __future__ import annotations

from os import path
from typing import Final

import balancer

COMPILED: Final = "compiled"
PLAIN: Final = "plain"


def build() -> str:
    """`COMPILED` if the typed modules that this process loads are compiled, else `PLAIN`."""
    return COMPILED if balancer.BUILD else PLAIN


def build_told() -> str:
    """Which build runs, for people: the name of a compiled build tells it from others."""
    return f"{COMPILED} {balancer.BUILD}" if balancer.BUILD else PLAIN


def is_checkout() -> bool:
    """Whether the sources are those of a checkout, which has types beside them, and not of an installation."""
    return path.exists(path.join(path.dirname(__file__), "deadlines.pxd"))

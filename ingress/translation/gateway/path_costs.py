"""Says what it costs to search paths for an expression of a route, and which paths are too long for that."""

from __future__ import annotations

import re

import msgspec

from balancer.matching.regexes import compile_pattern
from ingress.translation.beginnings import beginning
from ingress.translation.narrow_expressions import is_narrow


class PathCost(msgspec.Struct, frozen=True):
    """What a search for an expression costs (`expression_costs`).

    Every path that it matches begins with `beginning`, in any case. `text` is as its author wrote it. `instructions` is
    the size of a wide expression; 0: it is narrow. Paths of more than `SEARCHED_BYTES_WIDE` bytes are searched for
    `closing` instead, if there is one.
    """

    beginning: str
    text: str
    instructions: int = 0
    closing: str = ""


def cost_of(text: str, expression: str) -> PathCost:
    """The cost of `expression`, which matches whole paths and compiles. Its author wrote `text`."""
    plain = text.removeprefix("^")
    begins = beginning(plain)
    if is_narrow(f"^{plain}"):
        return PathCost(begins, plain)
    written = plain[: len(begins)] if plain.startswith("/") else begins
    return PathCost(begins, plain, compile_pattern(expression).instructions, rf"(?-i)\A{re.escape(written)}")

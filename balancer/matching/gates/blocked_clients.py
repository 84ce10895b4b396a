"""Refuses clients by what they say in User-Agent and Referer. No I/O.

Expressions are RE2's, over bytes, and compiled at the swap.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from balancer.errors import ErrorKind
from balancer.http.messages import field_value
from balancer.matching.gates.verdicts import PASSED, Asked, Deny, ForeseenGate, Go, Resume
from balancer.matching.regexes import Pattern, compile_pattern, pattern_problem
from balancer.model.gates import BlockedClients

_LISTS_REMEMBERED = 16  # every route has the same lists

_DENIED = Deny(ErrorKind.CLIENT_BLOCKED)


class BlockList:
    """The texts and expressions of one list."""

    __slots__ = ("_patterns", "_texts")

    def __init__(self, entries: Iterable[str]) -> None:
        """Raises `PatternError` for an entry that does not compile. The translation drops such entries before."""
        self._texts: set[bytes] = set()
        self._patterns: list[Pattern] = []
        for entry in entries:
            expression = expression_of(entry)
            if expression is None:
                self._texts.add(entry.removeprefix("\\").lower().encode("latin-1", "replace"))
            else:
                self._patterns.append(compile_pattern(expression))

    def blocks(self, value: bytes) -> bool:
        """Whether the list names the value of a field."""
        return value.lower() in self._texts or any(pattern.search(value) for pattern in self._patterns)


class BlockingGate(ForeseenGate):
    """The gate of one route. A missing field counts as an empty one, as in nginx."""

    __slots__ = ("_agents", "_referers")

    def __init__(self, rule: BlockedClients) -> None:
        self._agents = _list(rule.agents)
        self._referers = _list(rule.referers)

    def judge(self, asked: Asked, resume: Resume) -> Go | Deny:
        """The verdict, always at once."""
        fields = asked.request.fields
        agent, referer = field_value(fields, b"user-agent") or b"", field_value(fields, b"referer") or b""
        return _DENIED if self._agents.blocks(agent) or self._referers.blocks(referer) else PASSED


def expression_of(entry: str) -> str | None:
    """The expression of an entry in the syntax of RE2; None if the entry is a plain text."""
    if entry.startswith("~*"):
        return f"(?i){entry[2:]}"
    return entry[1:] if entry.startswith("~") else None


def entry_problem(entry: str) -> str | None:
    """Why an entry cannot be used; None if it can."""
    expression = expression_of(entry)
    return None if expression is None else pattern_problem(expression)


@lru_cache(maxsize=_LISTS_REMEMBERED)
def _list(entries: tuple[str, ...]) -> BlockList:
    return BlockList(entries)

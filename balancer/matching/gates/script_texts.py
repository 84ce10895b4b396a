"""Reads the texts of scripts: with variables of the request, variables that the script sets, and captures. No I/O.

Names are compiled once, at the swap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from balancer.errors import ErrorKind, Refusal
from balancer.matching.gates.external_auth.texts import compile_asked_text
from balancer.matching.gates.verdicts import Asked
from balancer.matching.ordered_edits import Clock
from balancer.matching.regexes import Searches
from balancer.matching.variables import Cookies, UnknownVariable, variable_name

_REFERENCE = re.compile(r"\$(?:([1-9])|\{([a-zA-Z0-9_]+)\}|([a-zA-Z0-9_]+))")
BYTES_MOST = 65_536
"""The most bytes of all values that one script makes for one request. A script may double a value again and again."""

_UNSAFE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class ScriptRun:
    """A script at work on one request: what was asked, its variables, and what its last expression captured.

    `underscores`: the request may have fields whose names have `_`, which are those with `-` to variables. `now` is the
    time since the epoch in seconds; without, the request is one that nobody sends.
    """

    __slots__ = ("_now", "_room", "_underscores", "asked", "captures", "cookies", "searches", "variables")

    def __init__(self, asked: Asked, underscores: bool = False, now: Clock | None = None) -> None:
        self._now = now
        self.asked = asked
        self.captures: tuple[bytes, ...] = ()
        self.variables: dict[str, bytes] = {}
        self.cookies = Cookies(asked.request)
        self.searches = Searches()
        self._underscores = underscores
        self._room = BYTES_MOST

    def bounded(self, value: bytes) -> bytes:
        """`value`, which the script keeps or sends. Raises `Refusal` if all such values are too long together."""
        self._room -= len(value)
        if self._room < 0:
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "values of a snippet that are too long together")
        return value

    def msec(self) -> bytes:
        """The time in seconds with three decimals ($msec)."""
        return b"" if self._now is None else b"%.3f" % self._now()

    def field(self, name: bytes) -> bytes:
        """All values of a field by its `variable_name`, joined as nginx joins them ($http_NAME)."""
        request = self.asked.request
        return b", ".join(
            [
                value
                for each, value in request.fields
                if each == name or (self._underscores and b"_" in each and each.replace(b"_", b"-") == name)
            ]
        )


ScriptText = Callable[[ScriptRun], bytes]
"""Returns the value of a text."""


def compile_script_text(text: str, variables: Collection[str] = (), groups: int = 0) -> ScriptText:
    """A function that evaluates `text`, and raises `Refusal` for a value that is too long. Raises `UnknownVariable`.

    Known are the variables of `compile_asked_text`, $msec, those of `variables`, which the script sets, and as many
    captures as `groups`. A variable that no step has set is empty, as in nginx.
    """
    parts: list[ScriptText] = []
    end = 0
    for match in _REFERENCE.finditer(text):
        parts += _literal(text[end : match.start()])
        parts.append(_reference(match, variables, groups))
        end = match.end()
    parts += _literal(text[end:])
    if len(parts) == 1:
        return parts[0]

    def joined(run: ScriptRun) -> bytes:
        values = [part(run) for part in parts]
        if sum(map(len, values)) > BYTES_MOST:
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "a text of a snippet that is too long")
        return b"".join(values)

    return joined


def safe_value(value: bytes) -> bytes:
    """`value` with control bytes percent-encoded: the decoded path of a request may hold line breaks."""
    return _UNSAFE.sub(lambda match: b"%%%02X" % match[0][0], value) if _UNSAFE.search(value) else value


def has_variables(text: str) -> bool:
    """Whether the value of `text` depends on the request."""
    return "$" in text


def _literal(text: str) -> list[ScriptText]:
    if "$" in text:
        raise UnknownVariable("$ only stands before the name of a variable")
    value = text.encode()
    return [lambda run: value] if value else []


def _reference(match: re.Match[str], variables: Collection[str], groups: int) -> ScriptText:
    if match[1]:
        place = int(match[1]) - 1
        if place >= groups:
            raise UnknownVariable(f"${match[1]} has no group of an expression right before it")
        return lambda run: run.captures[place] if place < len(run.captures) else b""
    name = match[2] or match[3]
    if name in variables:
        return lambda run: run.variables.get(name, b"")
    if name == "msec":
        return ScriptRun.msec
    value_of = compile_asked_text(f"${{{name}}}")
    kind, _, rest = name.partition("_")
    if kind == "cookie":
        cookie = rest.encode()
        return lambda run: next(iter(run.cookies.named(cookie)), b"")
    if kind == "http" and rest != "host":
        field = variable_name(rest)
        return lambda run: run.field(field)
    return lambda run: value_of(run.asked)

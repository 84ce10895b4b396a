"""Regular expressions that tenants may write: searched in time proportional to the text, whatever the pattern.

Responsible for a subset without back references and assertions, as Glushkov's automaton: one state for each character
of the pattern, all followed at once (Thompson, CACM 11(6), 1968). It must not know what is searched. Python's `re`
backtracks, and a tenant's pattern could hold an event loop for hours.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

# A counted repetition is written out; what people write has fewer than 100 characters.
STATES_MAX = 200
# Groups that hold nothing make no states, and could be repeated in one another for ever.
_ATOMS_MAX = 10 * STATES_MAX
# Sets of states that are remembered; a pattern and texts made to have more start over, as in RE2.
_STEPS_MAX = 4096

_BEGIN, _END = 256, 257
"""What stands before the first and behind the last byte of a text; `^` and `$` match them."""

_ANY = frozenset(range(256)) - {0x0A}
_DIGITS = frozenset(b"0123456789")
_WORD = _DIGITS | frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_SPACE = frozenset(b" \t\n\r\f\v")
_ALL = frozenset(range(256))
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACE, "D": _ALL - _DIGITS, "W": _ALL - _WORD, "S": _ALL - _SPACE}
_CONTROLS = {"t": 0x09, "n": 0x0A, "r": 0x0D, "f": 0x0C, "v": 0x0B}
_MANY = frozenset("*+?{")


class PatternError(ValueError):
    """A pattern that is malformed, too large or beyond the subset; the text says which."""


class _Part(NamedTuple):
    """A piece of the automaton: whether it matches nothing at all, and the states it begins and ends with, as bits."""

    empty: bool
    first: int
    last: int


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_begins", "_by_symbol", "_ends", "_follow", "_steps", "_whole")

    def __init__(self, text: str) -> None:
        parser = _Parser(text)
        self._whole = parser.parse()
        self._follow = parser.follow
        self._by_symbol: dict[int, int] = {}
        for number, symbols in enumerate(parser.symbols):
            for symbol in symbols:
                self._by_symbol[symbol] = self._by_symbol.get(symbol, 0) | 1 << number
        self._steps: dict[tuple[int, int], int] = {}
        # As many edges as the pattern names, so that `^` may match the same one again.
        self._begins = (_BEGIN,) * text.count("^")
        self._ends = (_END,) * text.count("$")

    def search(self, text: bytes) -> bool:
        """Whether the pattern matches anywhere in `text`."""
        if self._whole.empty:
            return True
        last, steps, states = self._whole.last, self._steps, 0
        for symbol in (*self._begins, *text, *self._ends):
            after = steps.get((states, symbol))
            states = self._step(states, symbol) if after is None else after
            if states & last:
                return True
        return False

    def _step(self, states: int, symbol: int) -> int:
        after = self._whole.first
        rest = states
        while rest:
            bit = rest & -rest
            after |= self._follow[bit.bit_length() - 1]
            rest ^= bit
        after &= self._by_symbol.get(symbol, 0)
        if len(self._steps) >= _STEPS_MAX:
            self._steps.clear()
        self._steps[states, symbol] = after
        return after


@lru_cache(maxsize=1024)  # compiled by every translation and every swap, and there are as many as canaries with one
def compile_pattern(text: str) -> Pattern:
    """The pattern in `text`. Raises `PatternError`.

    Supported are characters, `.`, classes, `\\d \\w \\s` and their opposites, groups, `|`, `* + ?`, `{n}` and so on,
    `^` and `$`. Whether a repetition is lazy makes no difference to a search.
    """
    return Pattern(text)


class _Parser:
    """Reads a pattern once, and writes down its states as it goes."""

    __slots__ = ("_at", "_atoms", "_depth", "_text", "follow", "symbols")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._atoms = self._depth = 0
        self.symbols: list[frozenset[int]] = []
        self.follow: list[int] = []

    def parse(self) -> _Part:
        whole = self._alternatives()
        if self._at < len(self._text):
            raise PatternError("a parenthesis closes nothing")
        return whole

    def _alternatives(self) -> _Part:
        part = self._sequence()
        while self._takes("|"):
            other = self._sequence()
            part = _Part(part.empty or other.empty, part.first | other.first, part.last | other.last)
        return part

    def _sequence(self) -> _Part:
        part = _Part(True, 0, 0)
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            part = self._joined(part, self._repeated())
        return part

    def _repeated(self) -> _Part:
        begin = self._at
        part = self._atom()
        if self._peek() not in _MANY:
            return part
        end = self._at
        least, most = self._bounds()
        self._takes("?")  # lazy
        if self._peek() in _MANY:
            raise PatternError("a repetition is repeated")
        after = self._at
        parts = [part]
        for _ in range(1, max(least, most or 0, 1)):  # each of a counted repetition has states of its own
            self._at = begin
            parts.append(self._atom())
            assert self._at == end
        self._at = after
        if most is None:
            parts[-1] = self._looped(parts[-1])
        if most == 0:
            return _Part(True, 0, 0)
        return self._counted(parts, least)

    def _counted(self, parts: list[_Part], least: int) -> _Part:
        """All parts in a row, of which those from `least` on may be missing."""
        whole = _Part(True, 0, 0)
        for number, part in enumerate(parts):
            whole = self._joined(whole, part._replace(empty=part.empty or number >= least))
        return whole

    def _bounds(self) -> tuple[int, int | None]:
        sign = self._next()
        if sign != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        inside, closed, _ = self._text[self._at :].partition("}")
        least, comma, most = inside.partition(",")
        numbers = [number for number in (least, most) if number]
        if not closed or not least or not all(number.isascii() and number.isdigit() for number in numbers):
            raise PatternError("a counted repetition is not {n}, {n,} or {n,m}")
        if any(len(number) > 3 or int(number) > STATES_MAX for number in numbers):
            raise PatternError("a repetition counts too far")
        self._at += len(inside) + 1
        if not comma:
            return int(least), int(least)
        if most and int(most) < int(least):
            raise PatternError("a repetition counts backwards")
        return int(least), int(most) if most else None

    def _atom(self) -> _Part:
        self._atoms += 1
        if self._atoms > _ATOMS_MAX:
            raise PatternError("the pattern is too large")
        sign = self._next()
        if sign in _MANY:
            raise PatternError("there is nothing to repeat")
        match sign:
            case "(":
                return self._group()
            case "[":
                return self._state(self._class())
            case ".":
                return self._state(_ANY)
            case "^" | "$":
                if self._peek() in _MANY:
                    raise PatternError("^ and $ cannot be repeated")
                return self._state(frozenset((_BEGIN if sign == "^" else _END,)))
            case "\\":
                return self._state(self._escape())
            case _:
                return self._state(_byte(sign))

    def _group(self) -> _Part:
        if self._takes("?") and not self._takes(":"):
            raise PatternError("of groups that begin with (? only (?: is supported")
        self._depth += 1
        if self._depth > 20:
            raise PatternError("groups are nested too deeply")
        part = self._alternatives()
        if not self._takes(")"):
            raise PatternError("a group is not closed")
        self._depth -= 1
        return part

    def _class(self) -> frozenset[int]:
        negated = self._takes("^")
        symbols = frozenset[int]()
        first = True
        while first or self._peek() != "]":
            first = False
            one = self._class_member()
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
                self._at += 1
                one = _range(one, self._class_member())
            symbols |= one
        self._at += 1
        return _ALL - symbols if negated else symbols

    def _class_member(self) -> frozenset[int]:
        sign = self._next()
        if sign == "[" and self._peek() in (":", ".", "="):
            raise PatternError("named classes are not supported")
        return self._escape() if sign == "\\" else _byte(sign)

    def _escape(self) -> frozenset[int]:
        sign = self._next()
        if sign in _CLASSES:
            return _CLASSES[sign]
        if sign in _CONTROLS:
            return frozenset((_CONTROLS[sign],))
        if sign.isalnum():
            raise PatternError(f"\\{sign} is not supported")
        return _byte(sign)

    def _state(self, symbols: frozenset[int]) -> _Part:
        if len(self.symbols) >= STATES_MAX:
            raise PatternError("the pattern is too large")
        bit = 1 << len(self.symbols)
        self.symbols.append(symbols)
        self.follow.append(0)
        return _Part(False, bit, bit)

    def _joined(self, one: _Part, other: _Part) -> _Part:
        self._connect(one.last, other.first)
        return _Part(
            one.empty and other.empty,
            one.first | other.first if one.empty else one.first,
            one.last | other.last if other.empty else other.last,
        )

    def _looped(self, part: _Part) -> _Part:
        self._connect(part.last, part.first)
        return part

    def _connect(self, ends: int, begins: int) -> None:
        for number in range(len(self.follow)):
            if ends >> number & 1:
                self.follow[number] |= begins

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _takes(self, sign: str) -> bool:
        taken = self._peek() == sign
        self._at += taken
        return taken

    def _next(self) -> str:
        sign = self._peek()
        if not sign:
            raise PatternError("the pattern ends too early")
        self._at += 1
        return sign


def _byte(sign: str) -> frozenset[int]:
    if not sign.isascii():
        raise PatternError("only ASCII is supported")
    return frozenset((ord(sign),))


def _range(one: frozenset[int], other: frozenset[int]) -> frozenset[int]:
    if len(one) != 1 or len(other) != 1 or min(one) > min(other):
        raise PatternError("a range of a class is not one")
    return frozenset(range(min(one), min(other) + 1))

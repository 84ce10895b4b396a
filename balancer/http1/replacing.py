"""Puts other values in the place of some field lines of a head that is known. No I/O.

Most heads that differ from the last one of their connection differ so: what the other lines say is not read again.
"""

from __future__ import annotations

from balancer.http.messages import Fields
from balancer.http1.fieldlines import FieldLine

# The roles of `fieldlines`, which are numbers of C in compiled modules, so that nobody can import them.
PASSES, SPECIAL, LOGGED = 0, 1, 4


class LinePlace:
    """Where one line of a head had another value than before: mostly the next head differs there, too.

    `number` is that of the line, and `field` that of its field. `start` and `rest` are how many bytes of the lines
    stand before and behind it, and `onward_rest` how many behind it in the lines that are passed on.
    """

    __slots__ = ("field", "number", "onward_rest", "rest", "start")

    def __init__(self, lines: list[FieldLine], number: int, start: int, rest: int) -> None:
        self.number = number
        self.start = start
        self.rest = rest
        field, onward_rest = number, 2  # an end of line stands last
        for at in range(number):
            line = lines[at]
            if line.role == SPECIAL:
                field -= 1
        for at in range(number + 1, len(lines)):
            line = lines[at]
            onward_rest += len(line.onward)
        self.field = field
        self.onward_rest = onward_rest


def have_other_values(others: list[FieldLine], lines: list[FieldLine], start: int, stop: int) -> bool:
    """Whether `others` have the names of `lines[start:stop]`, spelled alike, and all of these only pass."""
    count = len(others)
    if count != stop - start:
        return False
    for number in range(count):
        line, other = lines[start + number], others[number]
        if line.role not in (PASSES, LOGGED) or line.name != other.name:
            return False
    return True


def fields_with(others: list[FieldLine], fields: Fields, lines: list[FieldLine], start: int) -> Fields:
    """`fields`, which are those of `lines` without special ones, with those of `others` from the line `start` on."""
    place = 0
    for number in range(start):
        line = lines[number]
        if line.role != SPECIAL:
            place += 1
    changed = list(fields)
    for line in others:
        changed[place] = line.field
        place += 1
    return tuple(changed)


def onward_with(others: list[FieldLine], onward: bytes, lines: list[FieldLine], start: int) -> bytes:
    """`onward`, which ends with `lines` as they are passed on and an end of line, with `others` from `start` on."""
    stop = start + len(others)
    end, before = len(onward) - 2, 0
    for number in range(stop, len(lines)):
        line = lines[number]
        end -= len(line.onward)
    for number in range(start, stop):
        line = lines[number]
        before += len(line.onward)
    text = onward  # which compiled code slices without a slice object
    pieces = [text[: end - before]]
    for line in others:
        pieces.append(line.onward)
    pieces.append(text[end : len(onward)])
    return b"".join(pieces)

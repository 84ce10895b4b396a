"""Puts other values in the place of some field lines of a head that is known. No I/O.

Most heads that differ from the last one of their connection differ so: what the other lines say is not read again.
"""

from __future__ import annotations

from balancer.http.messages import Fields
from balancer.http1.fieldlines import FieldLine

# The roles of `fieldlines`, which are numbers of C in compiled modules, so that nobody can import them.
PASSES, SPECIAL = 0, 1


def have_other_values(others: list[FieldLine], lines: list[FieldLine], start: int, stop: int) -> bool:
    """Whether `others` have the names of `lines[start:stop]`, spelled alike, and all of these only pass."""
    count = len(others)
    if count != stop - start:
        return False
    for number in range(count):
        line, other = lines[start + number], others[number]
        if line.role != PASSES or line.name != other.name:
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

"""Finds the field lines in which a head differs from the last one of its connection. No I/O.

A browser sends a dozen equal lines with each request, and one or two others. Only these have to be read.
"""

from __future__ import annotations

from balancer.http import calls

_LINE_END = b"\r\n"
_END = b"\r\n\r\n"


def differing_lines(known: bytes, data: bytes, start: int) -> tuple[int, int, int, int, list[bytes]] | None:
    """What stands in place of some lines of `known` in the lines of `data`, which begin behind its first `start` bytes.

    Both begin with the end of the request line. `known` is valid and ends with an empty line. Returns the number of the
    first line of `known` that is replaced, the number of the first one behind these, how many bytes of `known` stand
    before and behind the replaced lines, and the new lines, which were not looked at. None: `data` is not one whole
    head, or the heads differ in how they begin or end.
    """
    if not calls.ends_with(data, _END):
        return None
    alike = calls.alike_from_start(known, data, start)
    first = calls.last_line_end(known, alike)
    shorter = min(len(known), len(data) - start)
    last = calls.next_line_end(known, len(known) - calls.alike_to_end(known, data, shorter - alike))
    if first < 0 or last < first + 2 or last + 2 == len(known):
        return None
    before = calls.line_ends(known, 0, first)
    behind = before + 1 + calls.line_ends(known, first + 2, last)
    text = data  # which compiled code slices without a slice object
    rest = len(known) - last
    lines = text[start + first + 2 : len(data) - rest]
    return before, behind, first + 2, rest, lines.split(_LINE_END)

"""Cases that an engine answers otherwise than the file says, each with its reason for docs/security.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Difference(NamedTuple):
    """What is accepted in place of the file's list, and why."""

    accept: tuple[str, ...]
    why: str


_OTHER_CODE = "hyper-h2 ends the connection with PROTOCOL_ERROR, where the RFC names a more exact code."
_UNREADABLE = Difference(("conn:PROTOCOL_ERROR",), _OTHER_CODE)

DIFFERENT: Mapping[tuple[str, str], Difference] = {
    ("ngh2", "SS-16"): Difference(
        ("ignored",), "nghttp2 does not look at PRIORITY, which RFC 9113 has dropped, so not at its stream either."
    ),
    ("h2", "SE-03"): _UNREADABLE,
}
"""By engine and case."""

"""Says on which line of a cloud's bill traffic between zones is, and how exact an estimate of it can be.

Pure. The prices are those of public price lists; a contract may have others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec


class Bill(msgspec.Struct, frozen=True):
    """The line of a bill, and the dollars for a gigabyte (10^9 bytes) that goes from one zone to another."""

    line: str
    dollars_per_gigabyte: float


BILLS: Final[Mapping[str, Bill]] = {
    "aws": Bill(
        "EC2-Other, usage type REGION-DataTransfer-Regional-Bytes: each gigabyte is on it twice, once as sent and once "
        "as received, for 0.01 dollars each",
        0.02,
    ),
    "gcp": Bill(
        "Compute Engine, SKUs named Network Inter Zone Data Transfer Out (before: Inter Zone Egress): only the "
        "sender pays",
        0.01,
    ),
    "azure": Bill("none: Azure does not bill traffic between availability zones of a region", 0.0),
}
"""By cloud, as `--cloud` takes them."""

MOST_OVERHEAD: Final = 0.08
"""What counted bytes lack at most, as a share of them: heads of packets (40 of 1,460 bytes), acknowledgements, TLS
records. Requests with small bodies lack more, because their heads are not bodies."""


def lines_of(cloud: str) -> tuple[str, ...]:
    """A sentence that names the line of the bill; for an unknown cloud, one for each of all."""
    if cloud in BILLS:
        return (f"On the bill: {BILLS[cloud].line}.",)
    return tuple(f"On the bill of {name}: {bill.line}." for name, bill in BILLS.items())

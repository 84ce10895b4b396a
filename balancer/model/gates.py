"""Gates in the model, which judge a request before an endpoint is picked: one struct for each kind."""

from __future__ import annotations

import msgspec


class SourceRanges(msgspec.Struct, frozen=True, tag="source_ranges"):
    """Lets requests in by the address of their client (ingress-nginx: allowlist- and denylist-source-range).

    Both are networks such as `10.0.0.0/8` and `2001:db8::/32`, sorted, without host bits and without overlaps. An
    address in `denied` is refused. If `allowed` is not empty, every address outside it is refused, too.
    """

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


class Rate(msgspec.Struct, frozen=True):
    """So many requests in so many seconds, and how many more may come at once."""

    requests: int
    seconds: int
    burst: int


GateRule = SourceRanges
"""Every kind of gate that a route may have; a second kind makes this a union."""

"""Computes quantiles from counts of durations.

Like Prometheus's `histogram_quantile`, it assumes that the durations of a bucket are spread evenly over it. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest


def quantile(share: float, bounds: Sequence[float], *counts: Sequence[float]) -> float | None:
    """The duration in seconds that this share (0 to 1) of all requests does not exceed. None without requests.

    Item N of each of `counts` is the number of durations up to `bounds[N]` and above the bound before. The last item
    is the number of longer ones; a quantile among them is the last bound.
    """
    buckets = [sum(each) for each in zip_longest(*counts, fillvalue=0.0)]
    wanted, below, lower = share * sum(buckets), 0.0, 0.0
    if not bounds or not any(buckets):
        return None
    for bound, count in zip(bounds, buckets, strict=False):
        if count and below + count >= wanted:
            return lower + (bound - lower) * (wanted - below) / count
        below, lower = below + count, bound
    return bounds[-1]

"""Makes docs/metrics.md from the table of metrics.

It must not know what a metric counts.
"""

from __future__ import annotations

from pathlib import Path

from balancer.metrics.definitions import DEFINITIONS
from balancer.metrics.kinds import BUCKETS_SECONDS
from balancer.model.zones import UNKNOWN_ZONE
from tools.places import DOCS

_PAGE = """\
# Metrics

Made from `balancer/metrics/definitions.py` by `make docs`; do not edit.

Served as Prometheus text on the admin port under `/metrics`.

* A request without a route has empty labels `namespace`, `ingress` and `service`.
* An unknown zone has the label value `{unknown_zone}`. `locality` is `local`, `remote` or `unknown`.
* `reason` of a zone decision is the reason code in the access log line of the same request.
* No label contains text from a client or names an endpoint.
* Series of routes that no longer exist are not exported.
* Buckets of the histograms, in seconds: {buckets}, +Inf.

| name | type | labels | meaning |
|---|---|---|---|
{rows}
| `python_info` | gauge | version, implementation, major, minor, patchlevel | Always 1. The interpreter. |
| `python_gc_objects_collected_total` | counter | generation | Objects that the garbage collector of the parent freed. |
| `python_gc_objects_uncollectable_total` | counter | generation | Objects that this collector could not free. |
| `python_gc_collections_total` | counter | generation | Runs of the garbage collector of the parent. |
"""


def files() -> dict[Path, str]:
    """The page."""
    return {DOCS / "metrics.md": markdown()}


def markdown() -> str:
    """The text of the page."""
    rows = (
        f"| `{each.name}` | {each.kind.value} | {', '.join(each.labels) or '—'} | {each.help} |" for each in DEFINITIONS
    )
    buckets = ", ".join(f"{bound:g}" for bound in BUCKETS_SECONDS)
    return _PAGE.format(unknown_zone=UNKNOWN_ZONE, buckets=buckets, rows="\n".join(rows))

"""Makes docs/reasons.md from the reasons of a pick."""

from __future__ import annotations

from pathlib import Path

from balancer.zones.reasons import Reason
from tools.places import DOCS

_PAGE = """\
# Reasons

Made from `balancer/zones/reasons.py` by `make docs`; do not edit.

Every pick of an endpoint carries exactly one of these codes. It is the label `reason` of the metric
`zonal_zone_decisions_total` and the field `reason` of the access log.

| code | meaning |
|---|---|
{rows}
"""


def files() -> dict[Path, str]:
    """The page."""
    return {DOCS / "reasons.md": markdown()}


def markdown() -> str:
    """The text of the page."""
    return _PAGE.format(rows="\n".join(f"| `{reason.value}` | {reason.explanation} |" for reason in Reason))

"""Makes docs/gateway-suite.md: the tests of the conformance suite of Gateway API, and the cases that ask the same."""

from __future__ import annotations

from pathlib import Path

from tests.features.gateway.suite import SUITE, cases_by_test
from tools.places import DOCS

_PAGE = """\
# The conformance suite of Gateway API, restated

Made by `make docs` from `tests/features/gateway/suite.py` and the cases; do not edit.

The suite of kubernetes-sigs/gateway-api needs a cluster, and has never run against zonal. Each of its tests is restated
by cases with objects of our own: the same manifests in other words, the same requests over real sockets, the same
conditions, reasons and counts in statuses. `tests/features/test_gateway_suite.py`, `test_gateway_cases.py` and
`test_gateway_cluster.py` play them, from a folder or from a fake API server. All of them pass but those of UDP, which
are not played. Names of tests newer than v1.6.1 were read from the suite's main branch and from
proposals to it.
{groups}
"""


def files() -> dict[Path, str]:
    """The page."""
    return {DOCS / "gateway-suite.md": markdown()}


def markdown() -> str:
    """The text of the page."""
    known = cases_by_test()
    parts = []
    for group, names in SUITE.items():
        rows = (f"| {name} | {', '.join(f'`{each}`' for each in known[name])} |" for name in names.split())
        parts.append("\n".join((f"\n## {group}\n", "| test | cases |", "|---|---|", *rows)))
    return _PAGE.format(groups="\n".join(parts))

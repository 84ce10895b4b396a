"""Makes docs/gateway-suite.md: the tests of the conformance suite of Gateway API, and the cases that ask the same."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from textwrap import fill

from tests.features.gateway.suite import DIFFERS, SUITE, cases_by_test, extended_features
from tools.places import DOCS

_PAGE = """\
# The conformance suite of Gateway API, restated

Made by `make docs` from `tests/features/gateway/suite.py` and the cases; do not edit.

The suite of kubernetes-sigs/gateway-api needs a cluster, and has never run against zonal. Each of its tests is restated
by cases with objects of our own: the same manifests in other words, the same requests over real sockets, the same
conditions, reasons and counts in statuses. `tests/features/test_gateway_suite.py`, `test_gateway_cases.py` and
`test_gateway_cluster.py` play them, from a folder and from a fake API server, which adds the defaults of the
definitions and refuses what they refuse, with a Service for each Gateway. All of them pass but those of UDP, which are
not played. Names of tests newer than v1.6.1 were read from the suite's main branch and from proposals to it. A
test with features in the second column is an extended one, any other of v1.6 one of the core.

These proposals ask for something that zonal does not do; their cases ask for the rest:

{differences}
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
        rows = (f"| {name} | {_told(extended_features(name))} | {_told(known[name])} |" for name in names.split())
        parts.append("\n".join((f"\n## {group}\n", "| test | features | cases |", "|---|---|---|", *rows)))
    differences = "\n".join(_difference(name, said) for name, said in DIFFERS.items())
    return _PAGE.format(groups="\n".join(parts), differences=differences)


def _told(names: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)


def _difference(name: str, said: str) -> str:
    text = f"* {name} {' '.join(said.split())}"
    return fill(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)

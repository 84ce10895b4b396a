"""The report says what was measured and what was missed."""

from __future__ import annotations

import msgspec

from tests.bench.control.figures import Figure, Report, Results, RunReport
from tests.bench.control.page import markdown, text

REPORT = Report(
    date="2026-01-01 12:00",
    machine="a machine",
    versions="Python 3.11",
    cluster="5 Ingresses.",
    results=(
        Results(
            workers=0,
            figures=(
                Figure(name="first sync", value=3.512, unit="s", bar=10, detail="CPU 2 s"),
                Figure(name="one change", value=250, unit="ms", bar=100),
                Figure(name="failed", value=0, unit="", bar=0),
                Figure(name="as it is", value=1234.5, unit="ms"),
            ),
        ),
        Results(workers=2, figures=()),
    ),
    remarks=("not offered",),
)


def test_the_page_is_a_table_for_each_number_of_workers() -> None:
    lines = markdown(REPORT).splitlines()
    assert "2026-01-01 12:00, a machine, Python 3.11. 5 Ingresses." in lines
    assert "| first sync | 3.51 s | ≤ 10 s | met | CPU 2 s |" in lines
    assert "| one change | 250 ms | ≤ 100 ms | missed: 2.5 times |  |" in lines
    assert "| failed | 0 | ≤ 0 | met |  |" in lines
    assert "| as it is | 1,234 ms |  |  |  |" in lines
    assert "## Worker processes: 2" in lines
    assert "* not offered" in lines


def test_a_page_without_remarks_ends_with_one_line_end() -> None:
    page = markdown(Report(date="", machine="", versions="", cluster="", results=REPORT.results))
    assert page.endswith("|\n")
    assert "not offered" not in page


def test_the_terminal_shows_the_same_in_columns() -> None:
    shown = text(REPORT).splitlines()
    (row,) = [line for line in shown if line.startswith("one change")]
    assert row.split("  ")[0] == "one change"
    assert row.endswith("missed: 2.5 times")
    assert shown[-1] == "not offered"


def test_routes_have_a_part_of_their_own() -> None:
    figures = (Figure(name="one HTTPRoute changed", value=120, unit="ms", bar=200),)
    run = RunReport(
        date="2026-02-02 12:00",
        machine="m",
        versions="v",
        cluster="7 HTTPRoutes.",
        results=(Results(workers=1, figures=figures),),
    )
    report = msgspec.structs.replace(REPORT, routes=run)
    page = markdown(report)
    assert (
        page.index("* not offered") < page.index("# Gateway API") < page.index("2026-02-02 12:00, m, v. 7 HTTPRoutes.")
    )
    assert page.endswith("| one HTTPRoute changed | 120 ms | ≤ 200 ms | met |  |\n")
    assert "7 HTTPRoutes." in text(report).splitlines()

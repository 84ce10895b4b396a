"""The page and the picture of a run."""

from __future__ import annotations

from xml.etree import ElementTree

import msgspec

from tests.bench.peers import picture, table
from tests.bench.peers.placing import Cores, share_out
from tests.bench.peers.results import Machine, Run
from tests.bench.peers.samples import Absence, Measure, Sample

MACHINE = Machine(
    date="2030-01-02 03:04 UTC",
    processor="Abacus <9>",
    cores=2,
    kernel="Linux 9",
    load=0.1,
    revision="0123456789",
    versions={"nginx": "1.2.3", "haproxy": "not installed"},
)


def run(*absences: Absence, **cpu: float) -> Run:
    """A run of the plain GET, in which each contender has used so many microseconds."""
    samples = [
        Sample(
            case="get",
            contender=name,
            round=0,
            figures={Measure.CPU.value: value, Measure.RATE.value: 1234.0, Measure.FAILED.value: 0.0},
        )
        for name, value in cpu.items()
    ]
    return Run(
        machine=MACHINE,
        rounds=3,
        run_seconds=2,
        idle_connections=5000,
        took_seconds=600.0,
        samples=tuple(samples),
        absences=absences,
    )


def page(of: Run, *, is_whole: bool = True) -> str:
    return table.page(of, one=(0,), rest=(1, 2, 3), is_whole=is_whole)


def test_a_contender_is_a_row_with_its_ratio_to_nginx() -> None:
    text = page(run(nginx=20.0, zonal=30.0))
    assert "| nginx | 20.0 | 1,234 | 1.00 |" in text
    assert "| **zonal** | 30.0 | 1,234 | 1.50 |" in text


def test_the_page_says_which_bars_are_met_and_by_how_much_others_are_missed() -> None:
    text = page(run(nginx=20.0, envoy=40.0, zonal=50.0))
    assert "| ≤ 3.1 times nginx | 2.50 | met |" in text
    assert "| ≤ 1 times Envoy | 1.25 | **missed** by 25% |" in text


def test_the_page_says_where_zonal_loses() -> None:
    assert "* GET, 107 bytes, keep-alive, 32 connections: nginx (1.5 times)\n" in page(
        run(nginx=20.0, zonal=30.0, caddy=90.0)
    )
    assert "Where zonal loses" not in page(run(nginx=20.0, zonal=10.0))


def test_a_contender_that_is_missing_has_a_row_that_says_why() -> None:
    text = page(run(Absence("haproxy", "not installed", "get"), nginx=20.0))
    assert "| HAProxy | *not installed* |  |  |" in text
    assert "Not installed: HAProxy." in text


def test_an_explanation_does_not_break_the_table() -> None:
    assert "| Envoy | *line one a/b line two* |" in page(
        run(Absence("envoy", "line one\na|b  line two", "get"), nginx=1.0)
    )


def test_failures_are_told() -> None:
    failing = Sample(
        case="get",
        contender="nginx",
        round=1,
        figures={Measure.CPU.value: 20.0, Measure.RATE.value: 1.0, Measure.FAILED.value: 0.25},
    )
    of = run(nginx=20.0)
    assert "Failed requests" not in page(of)
    worse = msgspec.structs.replace(of, samples=(*of.samples, failing))
    assert "Failed requests (worst round): nginx 25.00%." in page(worse)


def test_machine_date_and_versions_are_told() -> None:
    text = page(run(nginx=20.0))
    assert "2030-01-02 03:04 UTC, zonal at 0123456789. 2 cores of Abacus <9>" in text
    assert "nginx 1.2.3, HAProxy not installed" in text
    assert "pinned to core 0, everything else (load generators and endpoints) to cores 1 to 3" in text


def test_a_part_of_a_run_says_that_it_is_none() -> None:
    assert "Not a whole run" in page(run(nginx=1.0), is_whole=False)
    assert "Not a whole run" not in page(run(nginx=1.0))


def test_the_terminal_gets_the_verdicts() -> None:
    line, *_ = table.text(run(nginx=20.0, zonal=77.5)).splitlines()
    assert line.split() == ["get", "3.88", "≤", "3.1", "times", "nginx", "missed", "by", "25%"]


def test_a_bar_of_a_case_that_was_run_is_not_met_without_its_peer() -> None:
    assert "| ≤ 1 times Envoy |  | not measured |" in page(run(nginx=20.0, zonal=30.0))
    assert "full TLS handshake" not in page(run(nginx=20.0, zonal=30.0)).partition("## How")[0]


def test_every_row_has_as_many_cells_as_its_headings() -> None:
    text = page(run(Absence("envoy", "no", "get"), nginx=20.0, zonal=30.0))
    for block in text.split("\n\n"):
        assert len({line.count("|") for line in block.splitlines() if line.startswith("|")}) <= 1


def test_the_picture_has_a_bar_for_each_contender_the_least_first() -> None:
    texts = [element.text or "" for element in _texts(run(zonal=30.0, nginx=20.0, **{"zonal-no-log": 25.0}))]
    places = [texts.index(name) for name in ("nginx", "zonal, access log off", "zonal")]
    assert places == sorted(places)
    assert "1.50" in texts


def test_the_picture_has_the_compiled_build_below_the_plain_source() -> None:
    texts = [element.text or "" for element in _texts(run(nginx=20.0, zonal=40.0, **{"zonal-compiled": 30.0}))]
    place = texts.index("GET, 107 bytes, keep-alive, 32 connections")
    assert texts[place : place + 4] == [texts[place], "2.00", "the same, compiled", "1.50"]


def test_names_in_the_picture_have_no_marks_of_a_page() -> None:
    texts = [each.text or "" for each in _texts(run(**{"nginx": 20.0, "bare-loop": 13.0}))]
    assert any("uvloop" in text for text in texts)
    assert not any("*" in text for text in texts)


def test_a_heading_has_a_capital_unless_a_name_has_none() -> None:
    assert table.heading("the same over TLS") == "The same over TLS"
    assert table.heading("gRPC, unary call") == "gRPC, unary call"


def test_a_picture_of_nothing_is_a_picture() -> None:
    assert _texts(run()) == []


def test_everybody_has_cores() -> None:
    assert share_out([3]) == Cores((3,), (3,), (3,))
    assert share_out({1, 0}) == Cores((0,), (0,), (1,))
    assert share_out(range(4)) == Cores((0,), (0, 1), (2, 3))


def _texts(of: Run) -> list[ElementTree.Element]:
    return ElementTree.fromstring(picture.svg(of)).findall("{http://www.w3.org/2000/svg}text")

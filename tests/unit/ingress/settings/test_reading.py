"""A value fills its field; one that does not parse is a finding, or is refused where its option protects."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from ingress.findings import Finding, Findings, Severity, Subject
from ingress.settings.reading import Reading, read_options
from ingress.settings.table.option import ROUTE, Option, OptionSource, Overrides
from ingress.settings.unsupported import closing
from ingress.settings.values import integer


class Filled(msgspec.Struct, frozen=True):
    """What the options of these tests fill."""

    number: int = 1
    other: int = 2


NUMBER = Option(name="number", sources=ROUTE, fills=(Filled, "number"), grammar=integer(0), doc="", most=10)
GUARD = Option(
    name="guard",
    sources=ROUTE,
    fills=(Filled, "other"),
    grammar=integer(0),
    doc="",
    if_invalid=closing(Severity.UNPROTECTED, "nothing is guarded"),
)
ACCEPTED = Option(name="accepted", sources=ROUTE, fills=None, grammar=integer(0), doc="")
OPTIONS = {option.name: option for option in (NUMBER, GUARD, ACCEPTED)}


def read(texts: Mapping[str, str], source: OptionSource = OptionSource.INGRESS) -> tuple[Reading, tuple[Finding, ...]]:
    findings = Findings()
    report = findings.about(Subject("Ingress", "shop", "web"))
    return read_options(texts, OPTIONS, source=source, report=report), findings.frozen()


def test_a_value_fills_its_field_and_names_of_others_are_left_alone() -> None:
    reading, findings = read({"number": "7", "unknown": "x"})
    assert (reading, findings) == (Reading(Overrides({Filled: {"number": 7}})), ())
    assert reading.overrides.over(Filled(other=5)) == Filled(7, 5)


@pytest.mark.parametrize("text", ["7 ", "  7\t", " 7"])
def test_spaces_around_the_value_of_an_annotation_do_not_count(text: str) -> None:
    assert read({"number": text}) == (Reading(Overrides({Filled: {"number": 7}})), ())
    assert read({"number": text}, OptionSource.CONFIGMAP)[1][0].reason == "InvalidValue"


def test_an_option_that_fills_nothing_is_checked_all_the_same() -> None:
    assert read({"accepted": "1"}) == (Reading(Overrides()), ())
    assert [finding.reason for finding in read({"accepted": "x"})[1]] == ["InvalidValue"]


@pytest.mark.parametrize(
    ("source", "message", "effect"),
    [
        (OptionSource.CONFIGMAP, 'number is "x"', "The default of this key holds."),
        (OptionSource.INGRESS, 'Annotation number is "x"', "The annotation has no effect."),
        (OptionSource.SERVICE, 'Annotation number is "x"', "The annotation has no effect."),
    ],
)
def test_a_value_that_does_not_parse_is_a_finding_and_sets_nothing(
    source: OptionSource, message: str, effect: str
) -> None:
    reading, (finding,) = read({"number": "x"}, source)
    assert reading == Reading(Overrides())
    assert finding.message == f"{message}: use a whole number of at least 0."
    assert (finding.effect, finding.severity) == (effect, Severity.DEGRADED)


def test_a_value_that_does_not_parse_of_an_option_that_protects_is_refused_without_a_finding() -> None:
    reading, findings = read({"guard": "x"})
    (refused,) = reading.refused
    assert (reading.overrides, findings) == (Overrides(), ())
    assert (refused.option, refused.loss) == (GUARD, GUARD.if_invalid)
    assert refused.why == 'Annotation guard is "x" (use a whole number of at least 0)'


def test_a_number_above_the_most_is_lowered_for_an_ingress_and_not_for_the_operator() -> None:
    reading, (finding,) = read({"number": "11"})
    assert reading.overrides.over(Filled()) == Filled(number=10)
    assert (finding.reason, finding.message) == ("ValueCapped", 'Annotation number is "11": the most is 10.')
    reading, findings = read({"number": "11"}, OptionSource.CONFIGMAP)
    assert (reading.overrides.over(Filled()), findings) == (Filled(number=11), ())

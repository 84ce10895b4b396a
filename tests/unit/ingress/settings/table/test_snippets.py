"""The texts of snippets are taken as they are."""

from __future__ import annotations

from ingress.findings import Findings, Subject
from ingress.settings.reading import read_options
from ingress.settings.table.option import OptionSource
from ingress.settings.table.snippets import ClusterLevels, SnippetTexts
from ingress.settings.table.whole import CONFIGMAP_OPTIONS, INGRESS_OPTIONS
from tests.unit.ingress.cluster import nginx


def test_an_ingress_has_two_kinds_and_the_configmap_three() -> None:
    report = Findings().about(Subject("Ingress", "a", "b"))
    said = nginx(configuration_snippet="a", server_snippet="b", location_snippet="c")
    reading = read_options(said, INGRESS_OPTIONS, source=OptionSource.INGRESS, report=report)
    assert reading.overrides.over(SnippetTexts()) == SnippetTexts(configuration="a", server="b")
    data = {"configuration-snippet": "a", "server-snippet": "b", "location-snippet": "c", "http-snippet": "d"}
    reading = read_options(data, CONFIGMAP_OPTIONS, source=OptionSource.CONFIGMAP, report=report)
    assert reading.overrides.over(SnippetTexts()) == SnippetTexts(server="b", location="c", http="d")


def test_without_snippets_levels_say_nothing() -> None:
    assert ClusterLevels().says_nothing

"""The text reads back as what was written, by the parser of Prometheus' own library."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from balancer.metrics.definitions import REQUEST_DURATION, ZONE_DECISIONS
from balancer.metrics.kinds import BUCKETS_SECONDS
from balancer.metrics.model_metrics import CONFIG_GENERATION, WATCH_AGE
from balancer.metrics.textformat import HistogramText, heading, labels_text, line, number

ROUTED = labels_text(REQUEST_DURATION, ["shop", "web", "cart", "local"])


def read(text: str) -> list[Sample]:
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def test_a_heading_says_meaning_and_kind() -> None:
    first, second = heading(CONFIG_GENERATION).splitlines()
    assert first == f"# HELP zonal_config_generation {CONFIG_GENERATION.help}"
    assert second == "# TYPE zonal_config_generation gauge"


def test_a_line_without_labels_has_no_braces() -> None:
    assert line(CONFIG_GENERATION, "", 7) == "zonal_config_generation 7\n"


def test_labels_are_those_of_the_definition() -> None:
    text = labels_text(ZONE_DECISIONS, ["shop", "cart", "zone_local"])
    assert text == 'namespace="shop",service="cart",reason="zone_local"'
    with pytest.raises(ValueError, match="shorter"):
        labels_text(ZONE_DECISIONS, ["shop", "cart"])


@given(st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"])))
def test_any_label_value_reads_back(value: str) -> None:
    (sample,) = read(heading(WATCH_AGE) + line(WATCH_AGE, labels_text(WATCH_AGE, [value]), 1))
    assert sample.labels == {"kind": value}


@given(st.floats())
def test_any_value_reads_back(value: float) -> None:
    (sample,) = read(line(CONFIG_GENERATION, "", value))
    assert sample.value == value or (math.isnan(sample.value) and math.isnan(value))


def test_whole_numbers_have_no_point() -> None:
    assert [number(value) for value in (0, 12.0, 0.25, 1e15)] == ["0", "12", "0.25", "1000000000000000"]


@given(st.tuples(*(st.integers(0, 10**9) for _ in (*BUCKETS_SECONDS, "+Inf"))), st.floats(0, 1e9))
def test_buckets_are_cumulative_and_the_last_is_the_count(counts: tuple[int, ...], seconds: float) -> None:
    samples = read(heading(REQUEST_DURATION) + HistogramText(REQUEST_DURATION).lines(ROUTED, [*counts, seconds]))
    buckets = {sample.labels["le"]: sample.value for sample in samples if sample.name.endswith("_bucket")}
    assert list(buckets) == [*map(str, BUCKETS_SECONDS), "+Inf"]
    assert list(buckets.values()) == [sum(counts[: place + 1]) for place in range(len(counts))]
    assert {sample.name.rpartition("_")[2]: sample.value for sample in samples[-2:]} == {
        "count": sum(counts),
        "sum": seconds,
    }
    assert all(sample.labels.items() >= {"namespace": "shop", "locality": "local"}.items() for sample in samples)

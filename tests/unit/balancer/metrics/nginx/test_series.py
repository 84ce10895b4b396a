"""The metrics of ingress-nginx have its names, labels and buckets, and never meet the numbers of zonal's own."""

from __future__ import annotations

from balancer.metrics.definitions import DEFINITIONS
from balancer.metrics.kinds import Definition, MetricKind
from balancer.metrics.nginx import series
from balancer.metrics.nginx.counting import width_of
from balancer.metrics.nginx.series import COUNTED, NUMBERS, REQUEST_LABELS
from balancer.metrics.slots import WIDTH_MAX


def test_names_are_those_of_ingress_nginx_and_each_is_there_once() -> None:
    names = [each.name for each in vars(series).values() if isinstance(each, Definition)]
    assert len(names) == len(set(names))
    assert all(name.startswith("nginx_ingress_controller_") for name in names)
    assert {name.removeprefix("nginx_ingress_controller_") for name in names} >= {
        *("requests", "request_duration_seconds", "response_duration_seconds", "request_size", "response_size"),
        *("bytes_sent", "nginx_process_connections", "config_last_reload_successful", "ssl_expire_time_seconds"),
        *("success", "errors"),
    }


def test_what_is_counted_has_the_labels_of_a_request() -> None:
    for definition in COUNTED:
        assert definition.labels[-len(REQUEST_LABELS) :] == REQUEST_LABELS


def test_histograms_have_room_in_a_slot_table_and_whole_bounds_without_fraction() -> None:
    for definition in COUNTED:
        assert width_of(definition) <= WIDTH_MAX
        assert list(definition.buckets) == sorted(definition.buckets)
        assert (definition.kind is MetricKind.HISTOGRAM) is bool(definition.buckets)
        assert all(not str(bound).endswith(".0") for bound in definition.buckets)


def test_numbers_meet_no_number_of_an_own_metric() -> None:
    assert min(NUMBERS.values()) >= len(DEFINITIONS)
    assert len(set(NUMBERS.values())) == len(COUNTED)

"""The metrics table is a contract: its names and its labels."""

from __future__ import annotations

from balancer.metrics.definitions import DEFINITIONS
from balancer.metrics.kinds import MetricKind

CONTRACT = {
    "zonal_requests_total": ("namespace", "ingress", "service", "from_zone", "to_zone", "locality", "code"),
    "zonal_responses_total": ("namespace", "ingress", "service", "status", "error"),
    "zonal_grpc_responses_total": ("namespace", "ingress", "service", "grpc_status"),
    "zonal_request_duration_seconds": ("namespace", "ingress", "service", "locality"),
    "zonal_upstream_duration_seconds": ("namespace", "ingress", "service", "to_zone", "locality"),
    "zonal_zone_decisions_total": ("namespace", "service", "reason"),
    "zonal_zone_bytes_total": ("namespace", "service", "from_zone", "to_zone", "direction"),
    "zonal_zone_cost_dollars_total": ("namespace", "service"),
    "zonal_zone_blind_cost_dollars_total": ("namespace", "service"),
    "zonal_client_bytes_total": ("client_zone", "zone", "direction"),
    "zonal_client_cost_dollars_total": ("client_zone", "zone"),
    "zonal_limit_store_answers_total": ("outcome",),
    "zonal_zone_dry_run_decisions_total": ("namespace", "service", "reason", "locality"),
    "zonal_zone_dry_run_cost_dollars_total": ("namespace", "service"),
    "zonal_spill_ratio": ("namespace", "service"),
    "zonal_zone_overload_factor": ("namespace", "service", "zone"),
    "zonal_zone_expected_load": ("namespace", "service", "zone"),
    "zonal_zone_failure_ratio": ("namespace", "service", "zone"),
    "zonal_zone_evacuations_total": ("namespace", "service", "zone", "dry_run"),
    "zonal_endpoints": ("namespace", "service", "zone", "state"),
    "zonal_zone_drained": ("zone",),
    "zonal_route_info": ("namespace", "ingress", "kind", "service"),
    "zonal_own_zone_info": ("zone", "node", "source"),
    "zonal_config_generation": (),
    "zonal_config_age_seconds": (),
    "zonal_watch_last_event_age_seconds": ("kind",),
    "zonal_translation_seconds": (),
    "zonal_findings": ("kind", "reason", "severity"),
    "zonal_certificate_expiry_timestamp_seconds": ("namespace", "secret"),
    "zonal_access_log_dropped_total": (),
    "zonal_spans_dropped_total": ("reason",),
    "zonal_errors_total": ("kind",),
    "zonal_connections": ("state",),
    "zonal_http2_clients": ("kind",),
    "zonal_http2_resets_total": ("kind",),
    "zonal_http2_floods_total": ("kind",),
    "zonal_tls_dear_handshakes_total": ("host",),
    "zonal_hook_seconds": ("hook",),
    "zonal_hook_errors_total": ("hook", "outcome"),
    "zonal_retries_total": ("namespace", "service", "reason"),
    "zonal_ejections_total": ("namespace", "service"),
    "zonal_worker_restarts_total": (),
    "zonal_event_loop_lag_seconds": (),
    "zonal_fleet_peers": ("state",),
    "zonal_fleet_messages_total": ("result",),
    "zonal_fleet_refused_total": ("reason",),
    "zonal_fleet_bytes_total": ("direction",),
    "zonal_fleet_sick_links": (),
    "zonal_fleet_zone_sick_ratio": ("zone",),
    "zonal_worker_cpu_seconds_total": ("worker",),
    "zonal_stream_connections_total": (
        *("namespace", "ingress", "kind", "service", "from_zone", "to_zone", "locality"),
        "error",
    ),
    "zonal_stream_seconds_total": ("namespace", "ingress", "kind", "service"),
    "zonal_stream_connect_seconds": ("namespace", "service", "to_zone"),
    "zonal_worker_resident_memory_bytes": ("worker",),
    "zonal_worker_open_fds": ("worker",),
    "zonal_worker_start_time_seconds": ("worker",),
    "process_cpu_seconds_total": (),
    "process_resident_memory_bytes": (),
    "process_virtual_memory_bytes": (),
    "process_open_fds": (),
    "process_max_fds": (),
    "process_start_time_seconds": (),
    "zonal_build_info": ("version", "build"),
}


def test_names_and_labels_are_the_contract() -> None:
    assert {each.name: each.labels for each in DEFINITIONS} == CONTRACT


def test_kinds_follow_the_naming_rules_of_prometheus() -> None:
    counters = {each.name for each in DEFINITIONS if each.kind is MetricKind.COUNTER}
    assert counters == {each.name for each in DEFINITIONS if each.name.endswith("_total")}
    histograms = {each.name for each in DEFINITIONS if each.kind is MetricKind.HISTOGRAM}
    assert histograms == {each.name for each in DEFINITIONS if each.buckets}
    assert [each.name for each in DEFINITIONS if not each.help.endswith(".")] == []

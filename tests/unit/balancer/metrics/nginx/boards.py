"""What the two Grafana boards of ingress-nginx v1.15.1 ask Prometheus for (its deploy/grafana/dashboards)."""

from __future__ import annotations

CONTROLLER = ("controller_class", "controller_namespace", "controller_pod")
_ALL = {*CONTROLLER}
_PLACE = {*CONTROLLER, "namespace", "ingress"}

READ: list[tuple[str, set[str]]] = [
    # "NGINX Ingress controller"
    ("requests", {*_PLACE, "status"}),
    ("request_duration_seconds_bucket", {*_PLACE, "le"}),
    ("request_size_sum", _PLACE),
    ("response_size_sum", _PLACE),
    ("nginx_process_connections", {*_ALL, "state"}),
    ("nginx_process_resident_memory_bytes", _ALL),
    ("nginx_process_cpu_seconds_total", _ALL),
    ("success", _ALL),
    ("config_hash", _ALL),
    ("config_last_reload_successful", _ALL),
    ("config_last_reload_successful_timestamp_seconds", _ALL),
    ("ssl_expire_time_seconds", {"host", "namespace"}),
    # "Request Handling Performance"
    ("request_duration_seconds_count", {"ingress", "path", "status"}),
    ("response_duration_seconds_bucket", {"ingress", "path", "le"}),
    ("response_duration_seconds_sum", {"ingress", "path"}),
    ("response_size_count", {"ingress", "path"}),
    ("response_size_bucket", {"ingress", "path", "le"}),
    ("ingress_upstream_latency_seconds_sum", {"ingress"}),
    ("ingress_upstream_latency_seconds_count", {"ingress"}),
]
"""Each sample that a query reads, without the prefix, and the labels that the query names."""

_WHERE = 'controller_pod=~".*",controller_class=~".*",controller_namespace=~".*"'
_ROUTED = f'ingress!="",{_WHERE},ingress=~".*"'
_SHARE = f"nginx_ingress_controller_requests{{{_WHERE}"

QUERIES = [
    f"round(sum(irate(nginx_ingress_controller_requests{{{_WHERE}}}[2m])) by (ingress), 0.001)",
    f'sum(rate({_SHARE},status!~"[4-5].*"}}[2m])) by (ingress) / sum(rate({_SHARE}}}[2m])) by (ingress)',
    f'sum(avg_over_time(nginx_ingress_controller_nginx_process_connections{{{_WHERE},state="active"}}[2m]))',
    f"avg(irate(nginx_ingress_controller_success{{{_WHERE}}}[1m])) * 60",
    f"count(nginx_ingress_controller_config_last_reload_successful{{{_WHERE}}} == 1)",
    f"sum(irate(nginx_ingress_controller_request_size_sum{{{_WHERE}}}[2m]))",
    f"- sum(irate(nginx_ingress_controller_response_size_sum{{{_WHERE}}}[2m]))",
    f"avg(nginx_ingress_controller_nginx_process_resident_memory_bytes{{{_WHERE}}})",
    f"avg(rate(nginx_ingress_controller_nginx_process_cpu_seconds_total{{{_WHERE}}}[2m]))",
    *(
        f"histogram_quantile({share}, sum(rate(nginx_ingress_controller_request_duration_seconds_bucket"
        f"{{{_ROUTED}}}[2m])) by (le, ingress))"
        for share in (0.5, 0.9, 0.99)
    ),
    f"sum(increase(nginx_ingress_controller_request_duration_seconds_bucket{{{_ROUTED}}}[2m])) by (le)",
    'avg(nginx_ingress_controller_ssl_expire_time_seconds{kubernetes_pod_name=~".*"}) by (host) - time()',
    "sum(changes(nginx_ingress_controller_config_last_reload_successful_timestamp_seconds[30s])) by (controller_class)",
    "nginx_ingress_controller_config_hash",
    "histogram_quantile(0.5, sum by (le, path)"
    '(rate(nginx_ingress_controller_response_duration_seconds_bucket{ingress=~".*"}[1m])))',
    'sum by (path)(rate(nginx_ingress_controller_request_duration_seconds_count{ingress=~".*"}[1m]))',
    "sum by (path)(rate(nginx_ingress_controller_request_duration_seconds_count{status=~'[4-5].*'}[1m]))"
    " / sum by (path)(rate(nginx_ingress_controller_request_duration_seconds_count[1m]))",
    "sum by (path)(rate(nginx_ingress_controller_response_duration_seconds_sum[1m]))",
    "sum(rate(nginx_ingress_controller_request_duration_seconds_count{status=~'[4-5].*'}[1m])) by (path, status)",
    "sum(rate(nginx_ingress_controller_response_size_sum[1m])) by (path)"
    " / sum(rate(nginx_ingress_controller_response_size_count[1m])) by (path)",
    "sum(rate(nginx_ingress_controller_response_size_bucket[1m])) by (le)",
    "sum(rate(nginx_ingress_controller_ingress_upstream_latency_seconds_sum[1m]))"
    " / sum(rate(nginx_ingress_controller_ingress_upstream_latency_seconds_count[1m]))",
]
"""The queries of both boards, with every variable set to all."""

"""The dashboard of one Service: where its requests go and why, how fast it is, what it costs."""

from __future__ import annotations

from tools.boards.panels import Board, Panel, Query, Row, Variable

_MONTH = "2592000"  # seconds of 30 days
_OURS = 'namespace="$namespace", service="$service"'


def _by(label: str, metric: str) -> Query:
    return Query(f"sum by ({label}) (rate({metric}{{{_OURS}}}[$__rate_interval]))", f"{{{{{label}}}}}")


def _quantile(share: str, metric: str) -> Query:
    return Query(
        f"histogram_quantile({share}, sum by (le, locality) (rate({metric}_bucket{{{_OURS}}}[$__rate_interval])))",
        f"p{share[2:].ljust(2, '0')} {{{{locality}}}}",
    )


_TRAFFIC = Row(
    "Traffic",
    (
        Panel(title="Requests/s by status", unit="reqps", stacked=True, queries=(_by("code", "zonal_requests_total"),)),
        Panel(
            title="Requests/s by locality",
            unit="reqps",
            stacked=True,
            queries=(_by("locality", "zonal_requests_total"),),
        ),
        Panel(
            title="Picks/s by reason",
            unit="reqps",
            stacked=True,
            queries=(_by("reason", "zonal_zone_decisions_total"),),
            about="docs/reasons.md says what each code means.",
        ),
        Panel(
            title="Requests/s from zone to zone",
            kind="table",
            unit="reqps",
            matrix=("from_zone", "to_zone"),
            queries=(Query(f"sum by (from_zone, to_zone) (rate(zonal_requests_total{{{_OURS}}}[$__rate_interval]))"),),
            about="Rows are the zones of the replicas, columns those of the endpoints.",
        ),
        Panel(
            title="Duration of requests",
            unit="s",
            queries=tuple(_quantile(share, "zonal_request_duration_seconds") for share in ("0.5", "0.99")),
        ),
        Panel(
            title="Duration at the endpoint",
            unit="s",
            queries=tuple(_quantile(share, "zonal_upstream_duration_seconds") for share in ("0.5", "0.99")),
            about="What the last endpoint of each request took.",
        ),
    ),
)

_ENDPOINTS = Row(
    "Endpoints",
    (
        Panel(
            title="Endpoints by zone and state",
            stacked=True,
            queries=(Query(f"max by (zone, state) (zonal_endpoints{{{_OURS}}})", "{{zone}} {{state}}"),),
        ),
        Panel(
            title="Spill and overload",
            queries=(
                Query(f"max(zonal_spill_ratio{{{_OURS}}})", "share that spills"),
                Query(f"max by (zone) (zonal_zone_overload_factor{{{_OURS}}})", "latency of {{zone}}, multiple"),
            ),
            about="Under adaptive only.",
        ),
        Panel(
            title="Retries/s by what failed", unit="ops", stacked=True, queries=(_by("reason", "zonal_retries_total"),)
        ),
        Panel(
            title="Ejections and errors",
            unit="ops",
            queries=(
                Query(f"sum(rate(zonal_ejections_total{{{_OURS}}}[$__rate_interval]))", "ejections"),
                Query(
                    f'sum by (error) (rate(zonal_responses_total{{{_OURS}, error!=""}}[$__rate_interval]))',
                    "{{error}}",
                ),
            ),
        ),
    ),
)

_COST = Row(
    "Cost",
    (
        Panel(
            title="Cost in 30 days",
            unit="currencyUSD",
            queries=(
                Query(f"sum(rate(zonal_zone_cost_dollars_total{{{_OURS}}}[$__rate_interval])) * {_MONTH}", "as it is"),
                Query(
                    f"sum(rate(zonal_zone_blind_cost_dollars_total{{{_OURS}}}[$__rate_interval])) * {_MONTH}",
                    "without zones",
                ),
                Query(
                    f"sum(rate(zonal_zone_dry_run_cost_dollars_total{{{_OURS}}}[$__rate_interval])) * {_MONTH}",
                    "under the dry run",
                ),
            ),
        ),
        Panel(
            title="Bytes/s between zones",
            unit="Bps",
            stacked=True,
            queries=(
                Query(
                    "sum by (from_zone, to_zone, direction)"
                    f" (rate(zonal_zone_bytes_total{{{_OURS}}}[$__rate_interval]))",
                    "{{from_zone}} → {{to_zone}} {{direction}}",
                ),
            ),
        ),
        Panel(
            title="Dry run: picks/s by reason",
            unit="reqps",
            stacked=True,
            queries=(_by("reason", "zonal_zone_dry_run_decisions_total"),),
            about="What the policy would have decided, under zone-dry-run.",
        ),
    ),
)

BOARD = Board(
    uid="zonal-service",
    title="zonal / service",
    about="One Service.",
    variables=(
        Variable(name="namespace", metric='zonal_endpoints{state="ready"}'),
        Variable(name="service", metric='zonal_endpoints{state="ready", namespace="$namespace"}'),
    ),
    rows=(_TRAFFIC, _ENDPOINTS, _COST),
)

"""The dashboard of all replicas: which zones talk to which, what that costs, why requests leave, what is wrong."""

from __future__ import annotations

from tools.boards.panels import Board, Panel, Query, Row

_MONTH = "2592000"  # seconds of 30 days
_REQUESTS = "sum by (from_zone, to_zone) (rate(zonal_requests_total[$__rate_interval]))"
_COST = f"sum(rate(zonal_zone_cost_dollars_total[$__rate_interval])) * {_MONTH}"
_BLIND = f"sum(rate(zonal_zone_blind_cost_dollars_total[$__rate_interval])) * {_MONTH}"
_REMOTE = 'locality=~"local|remote"'

_SUMMARY = Row(
    "Now",
    (
        Panel(
            title="Stays in its zone",
            kind="stat",
            unit="percentunit",
            width=4,
            height=5,
            highest=1,
            queries=(
                Query(
                    'sum(rate(zonal_requests_total{locality="local"}[$__rate_interval]))'
                    f" / sum(rate(zonal_requests_total{{{_REMOTE}}}[$__rate_interval]))"
                ),
            ),
            about="Requests answered by an endpoint in the zone of the replica, of those whose both zones are known.",
        ),
        Panel(
            title="Requests",
            kind="stat",
            unit="reqps",
            width=4,
            height=5,
            queries=(Query("sum(rate(zonal_requests_total[$__rate_interval]))"),),
        ),
        Panel(
            title="Answered with 5xx",
            kind="stat",
            unit="percentunit",
            width=4,
            height=5,
            queries=(
                Query(
                    '(sum(rate(zonal_requests_total{code="5xx"}[$__rate_interval])) or vector(0))'
                    " / sum(rate(zonal_requests_total[$__rate_interval]))"
                ),
            ),
        ),
        Panel(
            title="Cost in 30 days",
            kind="stat",
            unit="currencyUSD",
            width=4,
            height=5,
            queries=(Query(_COST),),
            about="What the bytes between zones cost at the present rate, by zone-transfer-prices.",
        ),
        Panel(
            title="Saved in 30 days",
            kind="stat",
            unit="currencyUSD",
            width=4,
            height=5,
            queries=(Query(f"{_BLIND} - {_COST}"),),
            about="Compared with a proxy that does not know zones, at the present rate.",
        ),
        Panel(
            title="Replicas by zone",
            kind="stat",
            width=4,
            height=5,
            queries=(Query("count by (zone) (zonal_own_zone_info)", "{{zone}}"),),
        ),
    ),
)

_ZONES = Row(
    "Zones",
    (
        Panel(
            title="Requests/s from zone to zone",
            kind="table",
            unit="reqps",
            width=12,
            matrix=("from_zone", "to_zone"),
            queries=(Query(_REQUESTS),),
            about="Rows are the zones of the replicas, columns those of the endpoints.",
        ),
        Panel(
            title="Bytes/s from zone to zone",
            kind="table",
            unit="Bps",
            width=12,
            matrix=("from_zone", "to_zone"),
            queries=(Query("sum by (from_zone, to_zone) (rate(zonal_zone_bytes_total[$__rate_interval]))"),),
            about="Bodies in both directions, between replicas and endpoints.",
        ),
        Panel(
            title="Share that stays, by zone of the replica",
            unit="percentunit",
            highest=1,
            queries=(
                Query(
                    'sum by (from_zone) (rate(zonal_requests_total{locality="local"}[$__rate_interval]))'
                    f" / sum by (from_zone) (rate(zonal_requests_total{{{_REMOTE}}}[$__rate_interval]))",
                    "{{from_zone}}",
                ),
            ),
        ),
        Panel(
            title="Requests/s by zone of the endpoint",
            unit="reqps",
            stacked=True,
            queries=(Query("sum by (to_zone) (rate(zonal_requests_total[$__rate_interval]))", "{{to_zone}}"),),
        ),
    ),
)

_COSTS = Row(
    "Cost",
    (
        Panel(
            title="Cost in 30 days",
            unit="currencyUSD",
            queries=(
                Query(_COST, "as it is"),
                Query(_BLIND, "without zones"),
                Query("max(zonal:cost_limit_dollars) or vector(0)", "limit of the alert"),
            ),
            about="The limit is the recorded value of the alert ZonalCostHigh; 0 where its rules are not loaded.",
        ),
        Panel(
            title="The ten Services that cost most",
            kind="table",
            unit="currencyUSD",
            queries=(
                Query(
                    "topk(10, sum by (namespace, service)"
                    f" (rate(zonal_zone_cost_dollars_total[$__rate_interval])) * {_MONTH})"
                ),
            ),
            about="Dollars in 30 days at the present rate.",
        ),
        Panel(
            title="What dry runs would save in 30 days",
            unit="currencyUSD",
            queries=(
                Query(
                    f"(sum by (namespace, service) (rate(zonal_zone_cost_dollars_total[$__rate_interval])) * {_MONTH})"
                    " - on (namespace, service) (sum by (namespace, service)"
                    f" (rate(zonal_zone_dry_run_cost_dollars_total[$__rate_interval])) * {_MONTH})",
                    "{{namespace}}/{{service}}",
                ),
            ),
            about="Services with zone-dry-run. Below zero: the policy would cost more than what is done now.",
        ),
        Panel(
            title="Saved, by Service, the ten largest",
            unit="currencyUSD",
            queries=(
                Query(
                    "topk(10, (sum by (namespace, service)"
                    " (rate(zonal_zone_blind_cost_dollars_total[$__rate_interval]))"
                    " - sum by (namespace, service)"
                    f" (rate(zonal_zone_cost_dollars_total[$__rate_interval]))) * {_MONTH})",
                    "{{namespace}}/{{service}}",
                ),
            ),
        ),
    ),
)

_REASONS = Row(
    "Reasons",
    (
        Panel(
            title="Picks/s by reason",
            unit="reqps",
            stacked=True,
            queries=(Query("sum by (reason) (rate(zonal_zone_decisions_total[$__rate_interval]))", "{{reason}}"),),
            about="docs/reasons.md says what each code means.",
        ),
        Panel(
            title="The ten Services that leave their zone most",
            kind="table",
            unit="percentunit",
            queries=(
                Query(
                    "topk(10, (sum by (namespace, service)"
                    ' (rate(zonal_requests_total{locality="remote"}[$__rate_interval])))'
                    " / (sum by (namespace, service)"
                    f" (rate(zonal_requests_total{{{_REMOTE}}}[$__rate_interval]))))"
                ),
            ),
        ),
        Panel(
            title="Spill",
            unit="percentunit",
            highest=1,
            queries=(Query("max by (namespace, service) (zonal_spill_ratio)", "{{namespace}}/{{service}}"),),
            about="Under adaptive: the share that leaves the own zone because of its load; of the worst replica.",
        ),
        Panel(
            title="Sick zones",
            unit="percentunit",
            highest=1,
            queries=(
                Query(
                    "max by (namespace, service, zone) (zonal_zone_failure_ratio)", "{{namespace}}/{{service}} {{zone}}"
                ),
            ),
            about="The share of answers that fail, while some do; as the replica sees it that fares worst.",
        ),
        Panel(
            title="p99 by locality",
            unit="s",
            queries=(
                Query(
                    "histogram_quantile(0.99, sum by (le, locality)"
                    " (rate(zonal_request_duration_seconds_bucket[$__rate_interval])))",
                    "{{locality}}",
                ),
            ),
        ),
    ),
)

_TROUBLE = Row(
    "What is wrong",
    (
        Panel(
            title="Findings by severity",
            stacked=True,
            queries=(
                Query(
                    "sum by (severity) (max by (kind, reason, severity) (zonal_findings))",
                    "{{severity}}",
                ),
            ),
            about="Of the replica that has most. The admin port lists them under /debug/findings.",
        ),
        Panel(
            title="Services without a ready endpoint",
            kind="table",
            queries=(
                Query(
                    "max by (namespace, service)"
                    ' (sum by (namespace, service, instance) (zonal_endpoints{state="ready"})) == 0'
                ),
            ),
        ),
        Panel(
            title="Errors of the proxy itself",
            unit="reqps",
            stacked=True,
            queries=(Query('sum by (error) (rate(zonal_responses_total{error!=""}[$__rate_interval]))', "{{error}}"),),
        ),
        Panel(
            title="Certificates: time left",
            kind="table",
            unit="s",
            queries=(
                Query("bottomk(10, min by (namespace, secret) (zonal_certificate_expiry_timestamp_seconds) - time())"),
            ),
        ),
    ),
)

BOARD = Board(
    uid="zonal-fleet",
    title="zonal / fleet",
    about="All replicas: zones, cost, reasons.",
    rows=(_SUMMARY, _ZONES, _COSTS, _REASONS, _TROUBLE),
)

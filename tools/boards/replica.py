"""The dashboard of replicas: their workers, event loops, configuration, and the API server."""

from __future__ import annotations

from tools.boards.panels import Board, Panel, Query, Row, Variable

_CHOSEN = 'instance=~"$instance"'


def _of_worker(title: str, metric: str, unit: str) -> Panel:
    return Panel(
        title=title,
        unit=unit,
        queries=(
            Query(f"zonal_worker_{metric}{{{_CHOSEN}}}", "{{instance}} worker {{worker}}"),
            Query(
                f"process_{metric}{{{_CHOSEN}}} and on (instance, job) zonal_build_info", "{{instance}} control plane"
            ),
        ),
    )


_ABOUT = Row(
    "Replicas",
    (
        Panel(
            title="Own zone",
            kind="table",
            width=12,
            height=7,
            hidden=("__name__", "Value"),
            queries=(Query(f"max by (instance, zone, node, source) (zonal_own_zone_info{{{_CHOSEN}}})"),),
            about="The source says who names the zone: node, pod, flag or none.",
        ),
        Panel(
            title="Version",
            kind="stat",
            width=4,
            height=7,
            queries=(Query(f"count by (version) (zonal_build_info{{{_CHOSEN}}})", "{{version}}"),),
        ),
        Panel(
            title="Generation",
            kind="stat",
            width=4,
            height=7,
            queries=(Query(f"zonal_config_generation{{{_CHOSEN}}}", "{{instance}}"),),
            about="Each replica counts for itself: the numbers of two replicas differ.",
        ),
        Panel(
            title="Running for",
            kind="stat",
            unit="s",
            width=4,
            height=7,
            queries=(
                Query(
                    f"time() - (process_start_time_seconds{{{_CHOSEN}}} and on (instance, job) zonal_build_info)",
                    "{{instance}}",
                ),
            ),
        ),
    ),
)

_WORKERS = Row(
    "Workers",
    (
        Panel(
            title="CPU",
            unit="none",
            queries=(
                Query(
                    f"rate(zonal_worker_cpu_seconds_total{{{_CHOSEN}}}[$__rate_interval])",
                    "{{instance}} worker {{worker}}",
                ),
                Query(
                    f"rate(process_cpu_seconds_total{{{_CHOSEN}}}[$__rate_interval])"
                    " and on (instance, job) zonal_build_info",
                    "{{instance}} control plane",
                ),
            ),
            about="In processors.",
        ),
        _of_worker("Memory", "resident_memory_bytes", "bytes"),
        _of_worker("Open descriptors", "open_fds", "short"),
        Panel(
            title="Workers replaced",
            queries=(Query(f"increase(zonal_worker_restarts_total{{{_CHOSEN}}}[$__rate_interval])", "{{instance}}"),),
            about="The log says why a worker has ended.",
        ),
    ),
)

_LOOPS = Row(
    "Event loops and connections",
    (
        Panel(
            title="Longest delay of any event loop",
            unit="s",
            queries=(Query(f"zonal_event_loop_lag_seconds{{{_CHOSEN}}}", "{{instance}}"),),
        ),
        Panel(
            title="Connections",
            stacked=True,
            queries=(Query(f"sum by (state) (zonal_connections{{{_CHOSEN}}})", "{{state}}"),),
        ),
        Panel(
            title="Errors while serving",
            unit="ops",
            stacked=True,
            queries=(Query(f"sum by (kind) (rate(zonal_errors_total{{{_CHOSEN}}}[$__rate_interval]))", "{{kind}}"),),
        ),
        Panel(
            title="HTTP/2 requests broken off, and floods",
            unit="ops",
            queries=(
                Query(f"sum by (kind) (rate(zonal_http2_resets_total{{{_CHOSEN}}}[$__rate_interval]))", "{{kind}}"),
                Query(
                    f"sum by (kind) (rate(zonal_http2_floods_total{{{_CHOSEN}}}[$__rate_interval]))", "flood: {{kind}}"
                ),
            ),
            about="Clients leave (client), answers are cut (cut), clients break rules (malformed, floods).",
        ),
        Panel(
            title="Lines and spans dropped",
            unit="ops",
            queries=(
                Query(
                    f"sum by (instance) (rate(zonal_access_log_dropped_total{{{_CHOSEN}}}[$__rate_interval]))",
                    "{{instance}} access log",
                ),
                Query(
                    f"sum by (instance, reason) (rate(zonal_spans_dropped_total{{{_CHOSEN}}}[$__rate_interval]))",
                    "{{instance}} spans {{reason}}",
                ),
            ),
        ),
    ),
)

_CLUSTER = Row(
    "Configuration and API server",
    (
        Panel(
            title="Since the API server last said something",
            unit="s",
            queries=(Query(f"zonal_watch_last_event_age_seconds{{{_CHOSEN}}}", "{{instance}} {{kind}}"),),
            about="By kind of object. A quiet kind has a high age, so look at several kinds together.",
        ),
        Panel(
            title="Kinds that cannot be followed",
            queries=(
                Query(
                    f'sum by (instance, reason) (zonal_findings{{{_CHOSEN}, reason=~"Api.*"}})',
                    "{{instance}} {{reason}}",
                ),
            ),
        ),
        Panel(
            title="Age of the configuration",
            unit="s",
            queries=(Query(f"zonal_config_age_seconds{{{_CHOSEN}}}", "{{instance}}"),),
        ),
        Panel(
            title="Duration of the last translation",
            unit="s",
            queries=(Query(f"zonal_translation_seconds{{{_CHOSEN}}}", "{{instance}}"),),
        ),
    ),
)

BOARD = Board(
    uid="zonal-replica",
    title="zonal / replica",
    about="Replicas: workers, event loops, configuration, API server.",
    variables=(Variable(name="instance", metric="zonal_build_info", all_of_them=True),),
    rows=(_ABOUT, _WORKERS, _LOOPS, _CLUSTER),
)

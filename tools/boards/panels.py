"""A dashboard as a few plain values, and the JSON that Grafana imports.

Knows Grafana's format, and nothing of what is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

Json = dict[str, Any]

_COLUMNS: Final = 24  # of Grafana's grid
_SCHEMA: Final = 39  # of Grafana 10.4; newer versions read it, too
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}

Kind = Literal["timeseries", "stat", "table"]


class Query(msgspec.Struct, frozen=True):
    """PromQL, and the name of each series in the legend: a text with `{{label}}`."""

    promql: str
    legend: str = ""


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One panel. `unit` is one of Grafana's. `width` and `height` are in units of its grid, 24 wide.

    `matrix` makes a table of a query by two labels: the labels of its rows and of its columns.
    """

    title: str
    queries: tuple[Query, ...]
    about: str = ""
    kind: Kind = "timeseries"
    unit: str = "short"
    width: int = 12
    height: int = 8
    stacked: bool = False
    highest: float | None = None
    matrix: tuple[str, str] | None = None
    hidden: tuple[str, ...] = ()


class Row(msgspec.Struct, frozen=True):
    """A heading and the panels below it."""

    title: str
    panels: tuple[Panel, ...]


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader chooses: values of a label of `metric`. `all_of_them`: several or all at once."""

    name: str
    metric: str
    label: str = ""
    all_of_them: bool = False


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """One dashboard."""

    uid: str
    title: str
    about: str
    variables: tuple[Variable, ...] = ()
    rows: tuple[Row, ...]


def dashboard(board: Board) -> Json:
    """What Grafana imports."""
    return {
        "uid": board.uid,
        "title": board.title,
        "description": board.about,
        "tags": ["zonal"],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "graphTooltip": 1,
        "links": [{"type": "dashboards", "tags": ["zonal"], "title": "zonal", "asDropdown": False}],
        "templating": {"list": [_source(), *map(_variable, board.variables)]},
        "panels": [{"id": number, **each} for number, each in enumerate(_placed(board.rows), start=1)],
    }


def panels_of(board: Board) -> list[Panel]:
    """Every panel, without the headings."""
    return [panel for row in board.rows for panel in row.panels]


def _source() -> Json:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(variable: Variable) -> Json:
    query = f"label_values({variable.metric}, {variable.label or variable.name})"
    several: Json = {"multi": True, "includeAll": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}}
    return {
        "name": variable.name,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": variable.name},
        "definition": query,
        "refresh": 2,  # when the time range changes
        "sort": 1,
        **(several if variable.all_of_them else {}),
    }


def _placed(rows: Sequence[Row]) -> Iterator[Json]:
    """The headings and panels from left to right, and from top to bottom."""
    top = 0
    for row in rows:
        yield {
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "panels": [],
            "gridPos": _place(0, top, _COLUMNS, 1),
        }
        top, left, height = top + 1, 0, 0
        for panel in row.panels:
            if left + panel.width > _COLUMNS:
                top, left, height = top + height, 0, 0
            yield _panel(panel) | {"gridPos": _place(left, top, panel.width, panel.height)}
            left, height = left + panel.width, max(height, panel.height)
        top += height


def _place(left: int, top: int, width: int, height: int) -> Json:
    return {"x": left, "y": top, "w": width, "h": height}


def _panel(panel: Panel) -> Json:
    defaults: Json = {"unit": panel.unit, **_SHAPES[panel.kind]}
    if panel.kind == "timeseries":
        defaults["min"] = 0
        defaults["custom"] = {**defaults["custom"], "stacking": {"mode": "normal" if panel.stacked else "none"}}
    if panel.highest is not None:
        defaults["max"] = panel.highest
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _OPTIONS[panel.kind],
        "targets": [_target(panel, query, number) for number, query in enumerate(panel.queries)],
        **({"transformations": list(_transformations(panel))} if panel.kind == "table" else {}),
    }


def _target(panel: Panel, query: Query, number: int) -> Json:
    shown: Json = {"legendFormat": query.legend or "__auto"}
    if panel.kind == "table":
        shown = {"format": "table", "instant": True, "range": False}
    return {"refId": "ABCDEFGH"[number], "datasource": _SOURCE, "editorMode": "code", "expr": query.promql, **shown}


def _transformations(panel: Panel) -> Iterator[Json]:
    if panel.matrix is not None:
        rows, columns = panel.matrix
        yield {
            "id": "groupingToMatrix",
            "options": {"rowField": rows, "columnField": columns, "valueField": "Value", "emptyValue": "null"},
        }
    else:
        yield {"id": "organize", "options": {"excludeByName": dict.fromkeys(("Time", *panel.hidden), True)}}


_LINES: Final = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 10, "showPoints": "never"}
_SHAPES: Final[dict[Kind, Json]] = {
    "timeseries": {"custom": _LINES},
    "stat": {"color": {"mode": "fixed", "fixedColor": "text"}},
    "table": {"custom": {"align": "auto"}},
}
_OPTIONS: Final[dict[Kind, Json]] = {
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {"reduceOptions": {"calcs": ["lastNotNull"]}, "graphMode": "area", "colorMode": "value"},
    "table": {"showHeader": True, "cellHeight": "sm"},
}

"""Makes the dashboards as Grafana reads them, and the copies of dashboards and alerts in the chart.

Helm reads no file outside of a chart, so the chart has copies."""

from __future__ import annotations

import json
from pathlib import Path

from tools.boards import fleet, replica, service
from tools.boards.panels import Board, dashboard
from tools.places import CHART, ROOT

BOARDS: tuple[Board, ...] = (fleet.BOARD, service.BOARD, replica.BOARD)
DASHBOARDS = ROOT / "deploy" / "dashboards"
ALERTS = ROOT / "deploy" / "alerts" / "zonal.yaml"


def files() -> dict[Path, str]:
    """Every file that has to stand somewhere, with its content."""
    wanted = {CHART / "alerts" / ALERTS.name: ALERTS.read_text()}
    for board in BOARDS:
        name, text = f"{board.uid.removeprefix('zonal-')}.json", json.dumps(dashboard(board), indent=1) + "\n"
        wanted |= {place / name: text for place in (DASHBOARDS, CHART / "dashboards")}
    return wanted

"""Writes the dashboards as Grafana reads them, and copies them and the alerts into the chart.

Helm reads no file outside of a chart, so the chart has copies. After a change of a dashboard or of the alerts:
`python -m tests.features.deploying.boards.writing`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.features.deploying.boards import fleet, replica, service
from tests.features.deploying.boards.panels import Board, dashboard
from tests.features.deploying.rendering import CHART, ROOT

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


def main() -> int:
    """Write them."""
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Pictures of every page of `/ui`, of a demo that has gone through its phases: `make screenshots`.

Usage: python -m tests.bench.screenshots FOLDER. Needs the Chromium of the system.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

from ingress.demo.cluster import write_manifests
from ingress.demo.phases import PHASES
from ingress.demo.stage import Stage, open_stage
from ingress.demo.traffic import Tally
from tests.fakes.browser import BrowserPage, browsing

PAGES = {
    "zones": "#/zones",
    "services": "#/services",
    "service": "#/services/demo/shop",
    "calls": "#/services/demo/prices",
    "routes": "#/routes",
    "findings": "#/findings",
    "explain": "#/explain?url=http://demo.example/",
    "replica": "#/replica",
}
SIZES = ((380, 1500), (1280, 1180), (2560, 1440))
_PHASE_SECONDS = 10.0
_SETTLED_SECONDS = 2.5  # for figures of a few seconds and for transitions
_MISTAKEN_PATH = {
    "path": "/orders/of/a/year",
    "pathType": "Exact",
    "backend": {"service": {"name": "nowhere", "port": {"number": 80}}},
}
_MISTAKEN = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {
        "name": "mistaken",
        "namespace": "demo",
        "annotations": {"nginx.ingress.kubernetes.io/server-snippet": "deny all;"},
    },
    "spec": {
        "ingressClassName": "zonal",
        "rules": [{"host": "mistaken.example", "http": {"paths": [_MISTAKEN_PATH]}}],
    },
}


async def _picture(page: BrowserPage, place: Path, width: int, height: int, scheme: str) -> None:
    await page.size(width, height, scheme=scheme)
    await asyncio.sleep(_SETTLED_SECONDS)
    await page.screenshot(place)
    print(place)


async def _play(stage: Stage) -> None:
    for phase in PHASES:
        for step in stage.steps(phase):
            await step()
        await asyncio.sleep(_PHASE_SECONDS)


async def _take(folder: Path) -> None:
    async with open_stage(own_zone="zone-a", http_port=0) as stage, browsing() as page:
        await page.size(1280, 1180)
        await page.open(f"{stage.admin.url}/ui")
        calls = stage.calls(pause_seconds=0.1)
        async with stage.traffic(pause_seconds=0.05).flowing(to=Tally()), calls.flowing(to=Tally()):
            await _play(stage)
            for name, address in PAGES.items():
                if name == "routes":  # the pages from here on have a finding to show
                    write_manifests(stage.folder, {"mistaken.yaml": [_MISTAKEN]})
                    await page.until("document.querySelector('nav .badge')?.textContent === '1'")
                await page.open(f"{stage.admin.url}/ui{address}")
                await page.until("document.querySelector('#live')?.className === 'live on'")
                for width, height in SIZES:
                    for scheme in ("dark", "light"):
                        await _picture(page, folder / f"{name}-{width}-{scheme}.png", width, height, scheme)


def main() -> None:
    """Writes the pictures."""
    if shutil.which("chromium") is None:
        sys.exit("there is no Chromium on this machine: apt-get install chromium")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(_take(folder))


if __name__ == "__main__":
    main()

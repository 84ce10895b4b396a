"""A picture of `zonal demo` that plays like a recording of a terminal.

Usage: python -m tests.bench.recording docs/img/demo.svg. Plays the phases of a real demo, and shows the live view of
each as a frame of one SVG.
"""

from __future__ import annotations

import asyncio
import sys
from html import escape
from pathlib import Path

from ingress.demo.cluster import CALLS_SERVICE
from ingress.demo.live import Tick, table
from ingress.demo.phases import PHASES
from ingress.demo.stage import Stage, open_stage
from ingress.demo.traffic import Tally

_SETTLED_SECONDS = 2.0
_TICK_SECONDS = 2.0
_COLUMNS = 76
_FRAME_SECONDS = 3
_LINE, _LEFT, _TOP, _WIDTH = 20, 20, 58, 700

_STYLE = """\
text {{ font: 14px/20px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #c9d3de; white-space: pre }}
.own {{ fill: #3ecf9b }} .other {{ fill: #e0a458 }} .prompt {{ fill: #8b98a5 }}
.says {{ fill: #f0f4f8; font-weight: bold }}
.frame {{ opacity: 0; animation: show {whole}s step-end infinite }}
@keyframes show {{ 0% {{ opacity: 1 }} {share}% {{ opacity: 0 }} 100% {{ opacity: 0 }} }}
@media (prefers-reduced-motion: reduce) {{ .frame {{ animation: none }} .frame:last-of-type {{ opacity: 1 }} }}
"""


async def _frames() -> list[list[str]]:
    tally, frames = Tally(), []
    async with (
        open_stage(own_zone="zone-a", http_port=0) as stage,
        stage.traffic(pause_seconds=0.05).flowing(to=tally),
        stage.calls(pause_seconds=0.25).flowing(to=tally),
    ):
        for phase in PHASES:
            for step in stage.steps(phase):
                await step()
            await asyncio.sleep(_SETTLED_SECONDS)
            says = f"{phase.name}: {phase.says.format(zone=stage.own_zone)}"
            frames.append(table(await _tick(stage, says, tally), _COLUMNS))
    return frames


async def _tick(stage: Stage, says: str, tally: Tally) -> Tick:
    loop, admin = asyncio.get_running_loop(), stage.admin
    before, calls_before, then = await admin.account(), await admin.account(CALLS_SERVICE), loop.time()
    await asyncio.sleep(_TICK_SECONDS)
    account, calls, now = await admin.account(), await admin.account(CALLS_SERVICE), loop.time()
    return Tick(
        says=says,
        own_zone=stage.own_zone,
        seconds=now - then,
        account=account.since(before),
        calls=calls.since(calls_before),
        failed=tally.failed,
        findings=await admin.findings(),
        dollars_per_gigabyte=await admin.dollars_per_gigabyte(),
    )


def _svg(frames: list[list[str]]) -> str:
    height = _TOP + _LINE * (max(map(len, frames)) + 1)
    style = _STYLE.format(whole=_FRAME_SECONDS * len(frames), share=100 / len(frames))
    drawn = [
        f'<g class="frame" style="animation-delay: {number * _FRAME_SECONDS}s">{_lines(frame)}</g>'
        for number, frame in enumerate(frames)
    ]
    dots = [
        f'<circle cx="{20 + 18 * place}" cy="18" r="6" fill="{colour}"/>'
        for place, colour in enumerate(("#f0655b", "#f5bd4f", "#61c454"))
    ]
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            "<title>zonal demo: zones off, zones on, the own zone lost, and back</title>",
            f"<style>{style}</style>",
            f'<rect width="{_WIDTH}" height="{height}" rx="8" fill="#131a22"/>',
            *dots,
            f'<text class="prompt" x="{_LEFT}" y="{_TOP - 10}">$ make demo</text>',
            *drawn,
            "</svg>\n",
        )
    )


def _lines(frame: list[str]) -> str:
    return "".join(
        f'<text class="{_kind(number, line)}" x="{_LEFT}" y="{_TOP + _LINE * (number + 1)}">{escape(line)}</text>'
        for number, line in enumerate(frame)
    )


def _kind(number: int, line: str) -> str:
    if number == 0:
        return "says"
    return "own" if line.startswith("zone-a") else "other" if line.startswith("zone-") else "plain"


def main() -> None:
    """Writes the picture."""
    Path(sys.argv[1]).write_text(_svg(asyncio.run(_frames())), encoding="utf-8")


if __name__ == "__main__":
    main()

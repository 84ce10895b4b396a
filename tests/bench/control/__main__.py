"""Measures the control plane in a large cluster, prints the figures, and writes them as a page and as JSON."""

from __future__ import annotations

import argparse
import asyncio
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tests.bench.control import route_storms
from tests.bench.control.cluster import Shape
from tests.bench.control.figures import Figure, Report, Results, RunReport
from tests.bench.control.measures import Effort, Measures, all_of
from tests.bench.control.page import markdown, text
from tests.bench.control.processes import machine, on_cores
from tests.bench.control.routed_cluster import RouteShape
from tests.bench.control.routes import route_figures
from tests.bench.control.stage import CORE, OTHER_CORE, Site, offers, proxy, site

DOCS = Path(__file__).parents[3] / "docs"
NAME = "performance-control"
_ROUTES = "routes"
_PARTS = ("slice", "certificate", "ingress", "storm", "scrapes", "swap", _ROUTES)


def main(arguments: Sequence[str]) -> int:
    """Takes about four minutes for each number of workers. 0 if every bar is met, else 1."""
    given = _read(arguments)
    known = _known(given.output)
    others = [part for part in given.only if part != _ROUTES]
    report = known if known is not None and not others else _cluster_report(given, others)
    routes = _routes_report(given) if _ROUTES in given.only else known and known.routes
    report = msgspec.structs.replace(report, routes=routes)
    print(text(report))
    if given.output is not None:
        given.output.mkdir(parents=True, exist_ok=True)
        (given.output / f"{NAME}.md").write_text(markdown(report), encoding="utf-8")
        (given.output / f"{NAME}.json").write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    results = (*report.results, *(routes.results if routes is not None else ()))
    return int(any(figure.met is False for each in results for figure in each.figures))


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.control", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=(0, 1, 2), help="numbers of worker processes")
    only = "what to measure after the start; routes alone: the other figures of the page stay"
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=_PARTS, help=only)
    parser.add_argument("--quick", action="store_true", help="shorter and less often, to try it")
    parser.add_argument("--ingresses", type=int, default=Shape().ingresses)
    parser.add_argument("--routes", type=int, default=RouteShape().routes, help="HTTPRoutes of the cluster of those")
    parser.add_argument("--output", type=Path, default=DOCS, help="the folder of the page and the JSON; default: docs")
    return parser.parse_args(arguments)


def _known(output: Path | None) -> Report | None:
    """What the folder says so far."""
    place = None if output is None else output / f"{NAME}.json"
    return msgspec.json.decode(place.read_bytes(), type=Report) if place is not None and place.is_file() else None


def _run_report(cluster: str, results: Sequence[Results]) -> RunReport:
    return RunReport(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        machine=machine(),
        versions=f"Python {platform.python_version()}, Linux {platform.release()}",
        cluster=cluster,
        results=tuple(results),
    )


def _cluster_report(given: argparse.Namespace, parts: Sequence[str]) -> Report:
    shape, effort = Shape(ingresses=given.ingresses), Effort.quick() if given.quick else Effort()
    with on_cores({OTHER_CORE}):
        results, remarks = asyncio.run(_measure(shape, effort, workers=given.workers, parts=parts))
    cluster = (
        f"{shape.ingresses:,} Ingresses of one host, {shape.endpoints:,} endpoints (one Service has "
        f"{shape.large:,}) in three zones, {shape.certificates} certificates in {shape.namespaces} namespaces."
    )
    return Report(**msgspec.structs.asdict(_run_report(cluster, results)), remarks=tuple(remarks))


def _routes_report(given: argparse.Namespace) -> RunReport:
    shape, changes = RouteShape(routes=given.routes), 5 if given.quick else 20
    effort = route_storms.Effort(seconds=5.0, rounds=1) if given.quick else route_storms.Effort()
    results = []
    with on_cores({OTHER_CORE}):
        for workers in given.workers:
            figures = asyncio.run(route_figures(shape, effort, changes=changes, workers=workers))
            _say(workers, figures)
            results.append(Results(workers=workers, figures=tuple(figures)))
    cluster = (
        f"{shape.routes:,} HTTPRoutes in {shape.namespaces} namespaces, {shape.gateways} Gateways, "
        f"{shape.listener_sets} ListenerSets."
    )
    return _run_report(cluster, results)


async def _measure(
    shape: Shape, effort: Effort, *, workers: Sequence[int], parts: Sequence[str]
) -> tuple[list[Results], list[str]]:
    offered = [count for count in workers if await offers(count)]
    remarks = [f"`--workers {count}` is not offered by this version." for count in workers if count not in offered]
    swapped = await _swapped(shape) if "swap" in parts else []
    results = []
    async with site(shape) as filled:
        for count in offered:
            figures = await _of_proxy(filled, effort, workers=count, parts=parts)
            results.append(Results(workers=count, figures=(*figures, *swapped)))
    return results, remarks


async def _of_proxy(filled: Site, effort: Effort, *, workers: int, parts: Sequence[str]) -> list[Figure]:
    async with proxy(filled.server, workers) as running:
        measures = Measures(filled, running, effort)
        figures = await measures.start()
        _say(workers, figures)
        await measures.touch_every_host()
        for part, measure in all_of(measures).items():
            if part in parts:
                taken = await measure()
                _say(workers, taken)
                figures += taken
        figures += measures.end()
    return figures


async def _swapped(shape: Shape) -> list[Figure]:
    """In a process of its own, on the core of the proxy."""
    with on_cores({CORE}):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.bench.control.swapping", str(shape.ingresses), stdout=asyncio.subprocess.PIPE
        )
    said, _ = await process.communicate()
    change, flip, flip_total, first = map(float, said.split())
    return [
        Figure(
            name=f"swap of a {shape.large:,}-endpoint backend in a worker",
            value=change,
            unit="ms",
            bar=1,
            detail=f"CPU of the longest slice, median; the first publication {first:.0f} ms",
        ),
        Figure(
            name="zone policy of every backend changed, in a worker",
            value=flip,
            unit="ms",
            bar=1,
            detail=f"CPU of the longest slice, median; all slices together {flip_total:.0f} ms",
        ),
    ]


def _say(workers: int, figures: Sequence[Figure]) -> None:
    """What is known already, for whoever waits."""
    for figure in figures:
        print(
            f"workers {workers}: {figure.name}: {figure.value:.2f} {figure.unit} {figure.verdict} ({figure.detail})",
            file=sys.stderr,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

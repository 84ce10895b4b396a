"""The bars, and whether a run met them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tests.bench.peers.cases import AIOHTTP, COMPILED, ENVOY, GATEWAY, MANY_HOSTS, NGINX, OFF, TWO_WORKERS, ZONAL, label
from tests.bench.peers.samples import Figures, Measure


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """At most (or `is_least`: at least) `limit` times what `against` has; absolute, in `unit`, where that is empty."""

    case: str
    limit: float
    against: str = NGINX
    contender: str = ZONAL
    measure: Measure = Measure.CPU
    is_least: bool = False
    unit: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """`measured` is None where nobody measured one of the two. `excess` is the share of the limit beyond it, or 0."""

    bar: Bar
    measured: float | None
    excess: float = 0.0

    @property
    def is_met(self) -> bool:
        return self.measured is not None and not self.excess


BARS = (
    # The plain source stays right, not fast: what it took once, and a tenth more.
    Bar(case="get", limit=3.1),
    Bar(case="get", limit=1.0, against=ENVOY),
    Bar(case="get", limit=0.28, against=AIOHTTP),
    Bar(case="headers", limit=3.0),
    Bar(case="different", limit=3.9),
    Bar(case="64k", limit=1.3),
    Bar(case="1m", limit=0.9),
    Bar(case="upload", limit=1.35),
    Bar(case="connections", limit=2.7),
    Bar(case="tls", limit=3.7),
    Bar(case="handshakes", limit=1.6),
    Bar(case="h2", limit=3.2),
    Bar(case="h2-connections", limit=4.3),
    Bar(case="h2-headers", limit=3.0),
    Bar(case="h2-64k", limit=1.65),
    Bar(case="h2-1m", limit=1.15),
    Bar(case="grpc", limit=2.6),
    Bar(case="grpc-stream", limit=2.9),
    Bar(case="websocket", limit=1.3),
    Bar(case="latency", limit=3.0, measure=Measure.P99),
    Bar(case="idle", limit=10.0, against="", measure=Measure.CONNECTION, unit="KiB"),
    Bar(case="hosts", limit=1.05, contender=MANY_HOSTS, against=ZONAL),
    Bar(case="zone", limit=1.03, against=OFF),
    # What is installed. The median of three whole runs counts, because nginx differs from machine to machine.
    Bar(case="get", limit=1.15, contender=COMPILED),
    Bar(case="headers", limit=1.2, contender=COMPILED),
    Bar(case="different", limit=1.25, contender=COMPILED),
    Bar(case="connections", limit=1.3, contender=COMPILED),
    Bar(case="tls", limit=1.2, contender=COMPILED),
    Bar(case="handshakes", limit=1.15, contender=COMPILED),
    Bar(case="h2", limit=1.3, contender=COMPILED),
    Bar(case="h2-connections", limit=1.4, contender=COMPILED),
    Bar(case="h2-64k", limit=1.0, contender=COMPILED),
    Bar(case="grpc", limit=1.3, contender=COMPILED),
    Bar(case="grpc-stream", limit=1.3, contender=COMPILED),
    Bar(case="websocket", limit=1.15, contender=COMPILED),
    Bar(case="route", limit=1.03, contender=GATEWAY, against=COMPILED),
    Bar(case="get", limit=0.7, contender=COMPILED, against=ENVOY),
    Bar(case="get", limit=0.25, contender=COMPILED, against=AIOHTTP),
)

# "The same" within what a run repeats.
_SAME = 1.05


def bars(cores: int) -> tuple[Bar, ...]:
    """All bars. Two workers are judged by their rate only where a core each is left for them and the load."""
    workers = (
        Bar(case="workers", contender=TWO_WORKERS, against=ZONAL, limit=1.8, is_least=True, measure=Measure.RATE)
        if cores >= 4
        else Bar(case="workers", contender=TWO_WORKERS, against=ZONAL, limit=_SAME)
    )
    return (*BARS, workers)


def verdict(bar: Bar, figures: Figures) -> Verdict:
    """What a run says of one bar."""
    measured = (
        figures.ratio(bar.case, bar.contender, bar.against, measure=bar.measure)
        if bar.against
        else figures.value(bar.case, bar.contender, bar.measure)
    )
    if measured is None:
        return Verdict(bar, None)
    beyond = (bar.limit - measured if bar.is_least else measured - bar.limit) / bar.limit
    return Verdict(bar, measured, max(beyond, 0.0))


def verdicts(wanted: Sequence[Bar], figures: Figures) -> list[Verdict]:
    """Of every bar, in their order."""
    return [verdict(bar, figures) for bar in wanted]


def demand(bar: Bar) -> str:
    """A bar in words, as "≤ 2 times nginx". What the compiled build must keep to says so."""
    sign = "≥" if bar.is_least else "≤"
    if not bar.against:
        return f"{sign} {bar.limit:g} {bar.unit}"
    what = {Measure.P99: " (p99)", Measure.RATE: " (requests/s)"}.get(bar.measure, "")
    which = ", compiled" if bar.contender == COMPILED else ""
    return f"{sign} {bar.limit:g} times {label(bar.against)}{what}{which}"


def judgement(verdict: Verdict) -> str:
    """A verdict in words."""
    if verdict.measured is None:
        return "not measured"
    return f"**missed** by {verdict.excess:.0%}" if verdict.excess else "met"

"""The bars, and whether a run met them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tests.bench.peers.cases import AIOHTTP, COMPILED, ENVOY, MANY_HOSTS, NGINX, OFF, TWO_WORKERS, ZONAL, label
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
    Bar(case="get", limit=2.0),
    Bar(case="get", limit=0.7, against=ENVOY),
    Bar(case="get", limit=0.25, against=AIOHTTP),
    Bar(case="headers", limit=2.5),
    Bar(case="different", limit=3.8),
    Bar(case="64k", limit=1.3),
    Bar(case="1m", limit=1.3),
    Bar(case="upload", limit=1.5),
    Bar(case="connections", limit=2.5),
    Bar(case="tls", limit=2.5),
    Bar(case="handshakes", limit=1.5),
    Bar(case="h2", limit=2.0),
    Bar(case="h2-connections", limit=2.6),
    Bar(case="h2-headers", limit=2.5),
    Bar(case="h2-64k", limit=1.1),
    Bar(case="h2-1m", limit=0.8),
    Bar(case="grpc", limit=2.0),
    Bar(case="grpc-stream", limit=2.0),
    Bar(case="websocket", limit=2.0),
    Bar(case="latency", limit=3.0, measure=Measure.P99),
    Bar(case="idle", limit=10.0, against="", measure=Measure.CONNECTION, unit="KiB"),
    Bar(case="hosts", limit=1.1, contender=MANY_HOSTS, against=ZONAL),
    Bar(case="zone", limit=1.03, against=OFF),
    Bar(case="get", limit=1.25, contender=COMPILED),
    Bar(case="headers", limit=1.3, contender=COMPILED),
    Bar(case="different", limit=1.8, contender=COMPILED),
    Bar(case="connections", limit=1.5, contender=COMPILED),
    Bar(case="tls", limit=1.3, contender=COMPILED),
    Bar(case="handshakes", limit=1.2, contender=COMPILED),
    Bar(case="h2", limit=1.3, contender=COMPILED),
    Bar(case="h2-connections", limit=1.3, contender=COMPILED),
    Bar(case="websocket", limit=1.3, contender=COMPILED),
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

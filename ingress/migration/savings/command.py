"""Runs `zonal savings`: reads counters, estimates or shows what was saved, and prints it.

Does not know flags.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from balancer.model.zones import Zone, ZonePrices
from balancer.zones.cost import MONTH_SECONDS
from ingress.findings import printable
from ingress.migration.checking import as_today, translated_dump
from ingress.migration.command import CannotCheck
from ingress.migration.savings.bills import BILLS, MOST_OVERHEAD, lines_of
from ingress.migration.savings.estimating import CountedBytes, Estimate, estimated
from ingress.migration.savings.prometheus import Prometheus, Sample, by, label, scraped
from ingress.migration.savings.showback import Ask, as_csv, months_until, showback
from ingress.settings.context import TranslationContext
from ingress.sources.dumps import read_dump
from ingress.sources.folder import FolderUnreadable

_DAY_SECONDS: Final = 86400.0
_NGINX: Final = "nginx_ingress_controller_"
# What ingress-nginx got from clients is what it sent to endpoints, and the other way round. The first that has samples.
_SENT: Final = (f"{_NGINX}request_size_sum",)
_RECEIVED: Final = (f"{_NGINX}response_size_sum", f"{_NGINX}bytes_sent_sum")
_STARTED: Final = "process_start_time_seconds"
_LINE_LIMIT: Final = 1000


class SavingsOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where the counters are: a Prometheus, or files that its text format fills (`metrics`).

    With `source`, a folder or dump, the counters are those of ingress-nginx, and what zonal would save is estimated;
    without it they are those of zonal. `zones` are those of the pods of ingress-nginx. `price` is for a gigabyte
    between two zones; None: that of the `cloud`, or of the settings in the dump. `given` are fields of `context` that
    count before the arguments of a controller in the dump.
    """

    prometheus: str = ""
    fields: tuple[str, ...] = ()
    metrics: tuple[Path, ...] = ()
    source: Path | None = None
    context: TranslationContext = TranslationContext()
    zones: tuple[str, ...] = ()
    cloud: str = ""
    price: float | None = None
    days: float = 30.0
    hours: float | None = None
    months: int = 3
    by_service: bool = False
    form: str = "text"
    given: tuple[str, ...] = ()


def run_savings(options: SavingsOptions) -> int:
    """Prints the estimate or the showback. Returns 0. Raises `CannotCheck`."""
    if options.source is None:
        _show_back(options)
        return 0
    try:
        dump = read_dump(options.source)
    except FolderUnreadable as error:
        raise CannotCheck(str(error)) from None
    context, _ = as_today(options.source, dump, options.context, given=options.given)
    _, translation = translated_dump(dump, context, now_epoch_seconds=time.time())
    counted, months = _counted(options)
    if not counted:
        raise CannotCheck("no bytes of ingress-nginx are counted there: are its metrics scraped?")
    model = translation.model
    prices = _prices(options, model.zones.prices)
    found = estimated(counted, model.backends, prices, [Zone(each) for each in options.zones], months=months)
    if options.form == "json":
        print(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        print("\n".join(printable(line, limit=_LINE_LIMIT) for line in _told(found, options)))
    return 0


def _prices(options: SavingsOptions, known: ZonePrices) -> ZonePrices:
    if options.price is not None:
        return ZonePrices(default=options.price)
    bill = BILLS.get(options.cloud)
    return known if bill is None else ZonePrices(default=bill.dollars_per_gigabyte)


def _counted(options: SavingsOptions) -> tuple[list[CountedBytes], float]:
    """The bytes of ingress-nginx, and over how many months."""
    if options.metrics:
        samples, seconds = _of_files(options)
        return _together(samples), seconds / MONTH_SECONDS
    server, now = Prometheus(options.prometheus, options.fields), time.time()

    def grown(metric: str) -> Sequence[Sample]:
        query = f"sum by ({by('namespace', 'service', 'host')}) (increase({metric}[{options.days:g}d]))"
        return server.ask(query, at_epoch_seconds=now)

    samples = {metric: grown(metric) for metric in (*_SENT, *_RECEIVED)}
    return _together(samples), options.days * _DAY_SECONDS / MONTH_SECONDS


def _of_files(options: SavingsOptions) -> tuple[Mapping[str, Sequence[Sample]], float]:
    """The samples of all files, one for each pod, and the seconds in which a pod counted them on average."""
    try:
        pages = [(str(place), place.read_text(encoding="utf-8")) for place in options.metrics]
        written = [place.stat().st_mtime for place in options.metrics]
    except OSError as error:
        raise CannotCheck(f"cannot read {error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise CannotCheck(f"metrics are text in UTF-8: {error}") from None
    if options.hours is not None:
        return scraped(pages), options.hours * 3600.0
    ages = [_age(file, page, at) for (file, page), at in zip(pages, written, strict=True)]
    return scraped(pages), sum(ages) / len(ages)


def _age(file: str, page: str, written_epoch_seconds: float) -> float:
    """How long a pod had counted when its page was written."""
    started = scraped([(file, page)]).get(_STARTED)
    age = written_epoch_seconds - started[0][1] if started else 0.0
    if age <= 0.0:
        raise CannotCheck(f"{file} has no usable {_STARTED}: say by --hours for how long it has counted")
    return age


def _together(samples: Mapping[str, Sequence[Sample]]) -> list[CountedBytes]:
    sums: dict[tuple[str, str, str], list[float]] = {}
    for place, metrics in enumerate((_SENT, _RECEIVED)):
        for labels, value in next((samples[each] for each in metrics if samples.get(each)), ()):
            key = label(labels, "host"), label(labels, "namespace"), label(labels, "service")
            sums.setdefault(key, [0.0, 0.0])[place] += value
    return [CountedBytes(*key, *both) for key, both in sums.items() if sum(both) > 0.0 and key[2]]


def _told(found: Estimate, options: SavingsOptions) -> Iterator[str]:
    heads = ("HOST", "SERVICE", "GB/MONTH", "$/MONTH", "ZONAL SAVES")
    rows = [heads]
    for each in found.rows:
        dollars = [f"{value:,.2f}" if value is not None else "unknown" for value in (each.today, each.saved)]
        rows.append(
            (each.host or "*", f"{each.namespace}/{each.service}", f"{each.gigabytes:,.1f}", dollars[0], dollars[1])
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    yield ""
    yield from _summed(found)
    yield from lines_of(options.cloud)


def _summed(found: Estimate) -> Iterator[str]:
    if found.today is None or found.saved is None or found.saved_most is None:
        said = "what they cost between zones is unknown, because no endpoint has a zone"
        yield f"{found.gigabytes:,.1f} GB a month; {said}:"
        yield "  dump the EndpointSlices as well, of a cluster whose nodes have the label topology.kubernetes.io/zone."
        return
    yield (
        f"{found.gigabytes:,.1f} GB a month; between zones they cost ${found.today:,.2f}, of which zonal saves"
        f" ${found.saved:,.2f}, and at most ${found.saved_most:,.2f}:"
    )
    yield f"  counted bytes lack heads of packets and acknowledgements, up to {MOST_OVERHEAD:.0%} of them;"
    yield f"  {found.known_share:.1%} of the bytes went to endpoints with zones, and the others count alike."
    yield "It supposes that each pod of ingress-nginx has the same share of the requests, and picks any ready endpoint."


def _show_back(options: SavingsOptions) -> None:
    if not options.prometheus:
        raise CannotCheck("what zonal saved is asked of a Prometheus: give --prometheus URL")
    server = Prometheus(options.prometheus, options.fields)
    ask: Ask = lambda query, at: server.ask(query, at_epoch_seconds=at)  # noqa: E731 - one line says it
    months = months_until(datetime.now(UTC), options.months)
    lines = list(showback(ask, months, by_service=options.by_service))
    if options.form == "json":
        plain = [{**msgspec.to_builtins(each), "saved_dollars": each.saved_dollars} for each in lines]
        print(msgspec.json.format(msgspec.json.encode(plain)).decode())
    else:
        print(as_csv(lines))

"""Everything that is measured of one proxy, in the order in which it happens to a large cluster.

Responsible for what is done and what is read off; bars are those of the project's plan. It must not know how figures
are shown.
"""

from __future__ import annotations

import asyncio
import base64
import statistics
import time
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from ingress.following.holdoff import LONE_SECONDS, QUIET_SECONDS
from tests.bench.control.cluster import changed_slice, host_of, ingress_of, slices_of
from tests.bench.control.effects import connections, seconds_until, seconds_until_certificate
from tests.bench.control.figures import Figure, median, percentile, ratio, waited
from tests.bench.control.load import Latencies
from tests.bench.control.processes import MIB, children, usage, waited_seconds
from tests.bench.control.scraping import page_bytes
from tests.bench.control.stage import Running, Site, send
from tests.bench.control.starting import first_sync
from tests.bench.control.storms import Beside, Changes, load_beside, storm_figures, unfollowed_changes
from tests.integration.manifests import Document
from tests.integration.wire import Connection

_SETTLE_SECONDS = 2.0
_CONTROL_MIB_MOST = 400.0
_LOAD_PER_SECOND = 400
# Few hosts get most requests. (A host's first request after its endpoints have changed costs a worker 0.5 ms more.)
_BUSY_HOSTS = 200
_TOUCH_PER_SECOND = 250

# The latencies of two loads on a shared machine differ by so much without any reason.
_UNAFFECTED = 1.25


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how often: the quick one is for trying the command."""

    changes: int = 20
    storm_seconds: float = 30.0
    load_seconds: float = 15.0
    rounds: int = 2

    @classmethod
    def quick(cls) -> Effort:
        return cls(changes=5, storm_seconds=6.0, load_seconds=5.0, rounds=1)


class Measures:
    """One proxy in one cluster; each method takes its figures."""

    def __init__(self, site: Site, running: Running, effort: Effort) -> None:
        self._site = site
        self._zonal = running.zonal
        self._running = running
        self._effort = effort
        self._turn = 0
        self._first_workers = children(running.zonal.pid)
        self._waited: list[float] = []

    async def start(self) -> list[Figure]:
        """What the first sync took."""
        await asyncio.sleep(_SETTLE_SECONDS)
        return first_sync(self._running, control_mib_most=_CONTROL_MIB_MOST)

    async def touch_every_host(self) -> None:
        """One request to each host, so that each has its counters."""
        hosts = self._hosts(self._site.shape.ingresses)
        seconds = len(hosts) / _TOUCH_PER_SECOND
        latencies = await send(self._zonal.http_port, hosts=hosts, rate=_TOUCH_PER_SECOND, seconds=seconds)
        if latencies.failed:
            raise RuntimeError(f"{latencies.failed} of {latencies.sent} requests failed in a quiet cluster")

    async def slice_change(self) -> list[Figure]:
        """One slice changes: until every worker uses it, and what that costs."""
        number = self._site.shape.ingresses // 2
        request_host, taken = host_of(number), []
        async with connections(self._zonal.http_port, workers=self._running.workers) as opened:
            for turn in range(self._effort.changes):
                port, answer = self._site.ports[1 - turn % 2], b"ba"[turn % 2 : turn % 2 + 1]

                async def is_new(connection: Connection, expected: bytes = answer) -> bool:
                    return (await connection.get(request_host)).body == expected

                since = time.monotonic()
                self._put(*slices_of(self._site.shape, number, port=port))
                taken.append(await seconds_until(opened, is_new, since=since))
                await asyncio.sleep(0.2)
        self._put(*slices_of(self._site.shape, number, port=self._site.ports[0]))
        latency = median("one slice changed, until every worker uses it", taken, bar=100, also=waited(QUIET_SECONDS))
        return [latency, await self._cost_of_change(number)]

    async def certificate_change(self) -> list[Figure]:
        """A Secret changes: until handshakes show it."""
        host, taken = host_of(0), []
        for _ in range(max(2, self._effort.changes // 4)):
            await asyncio.sleep(_SETTLE_SECONDS)  # a whole translation is followed by as much rest
            secret = self._site.secret(0)
            since = time.monotonic()
            self._put(secret)
            taken.append(
                await seconds_until_certificate(
                    self._zonal.https_port, host, _der(secret), since=since, workers=self._running.workers
                )
            )
        return [median("certificate changed, until every worker shows it", taken)]

    async def ingress_change(self) -> list[Figure]:
        """An Ingress changes: until requests show it, as a path that is gone."""
        number = self._site.shape.ingresses // 3
        taken = []
        async with connections(self._zonal.http_port, workers=self._running.workers) as opened:
            for turn in range(2 * max(1, self._effort.changes // 8)):
                await asyncio.sleep(_SETTLE_SECONDS)
                target, status = ("/", 200) if turn % 2 else ("/elsewhere", 404)

                async def is_new(connection: Connection, expected: int = status) -> bool:
                    return (await connection.get(host_of(number))).status == expected

                since = time.monotonic()
                self._put(ingress_of(self._site.shape, number, target=target))
                taken.append(await seconds_until(opened, is_new, since=since))
        also = waited(LONE_SECONDS)
        return [median("Ingress changed, until every worker follows it", taken, bar=200, also=also)]

    async def storm(self) -> list[Figure]:
        """A thousand slices change each second, beside a load; and the same with objects that nobody follows."""
        quiet, stormy, unfollowed = [], [], unfollowed_changes(self._site.server)
        for number in range(self._effort.rounds):
            seconds = self._effort.storm_seconds if number == 0 else self._effort.load_seconds
            quiet.append((await self._loaded_beside(unfollowed, self._effort.load_seconds)).latencies)
            stormy.append(await self._loaded_beside(self._changes(), seconds))
            await asyncio.sleep(_SETTLE_SECONDS)
        load = f"{_LOAD_PER_SECOND} requests/s to {_BUSY_HOSTS} hosts"
        return storm_figures("1,000 slice updates/s", quiet, stormy, load)

    async def scrapes(self) -> list[Figure]:
        """Metrics are read each second, beside a load."""
        pages: list[tuple[float, int]] = []
        quiet, scraped, costs = [], [], []
        for _ in range(self._effort.rounds):
            quiet.append(await self._load(self._effort.load_seconds))
            is_over = asyncio.Event()
            scraping = asyncio.create_task(self._scrape(pages, is_over))
            before, started = usage(self._zonal.pid), time.monotonic()
            scraped.append(await self._load(self._effort.load_seconds))
            costs.append(usage(self._zonal.pid).since(before).control / (time.monotonic() - started))
            is_over.set()
            await scraping
        before_ms, during = (percentile([each.p99 for each in some], 0.5) for some in (quiet, scraped))
        seconds = [each for each, _ in pages]
        return [
            Figure(
                name="`/metrics` each second: p99 of requests against none",
                value=ratio(during, before_ms),
                unit="times",
                bar=_UNAFFECTED,
                detail=f"{before_ms:.1f} → {during:.1f} ms, worst {max(each.worst for each in scraped):.1f} ms, "
                f"late {max(each.late for each in quiet):.1f} → {max(each.late for each in scraped):.1f} ms; "
                f"control process {statistics.mean(costs):.2f} cores",
            ),
            Figure(
                name="one `/metrics`",
                value=statistics.median(seconds),
                unit="s",
                detail=f"{len(pages)} pages of {max(size for _, size in pages) / MIB:.1f} MiB",
            ),
        ]

    def end(self) -> list[Figure]:
        """What says how far the other figures are to be trusted."""
        gone = set(self._first_workers) - set(children(self._zonal.pid))
        figures = [Figure(name="workers that were replaced meanwhile", value=len(gone), unit="", bar=0)]
        if self._waited:
            figures.append(
                Figure(
                    name="waiting for a core during the loads",
                    value=100 * max(self._waited),
                    unit="%",
                    detail="of the time, all processes together: where it is more than a few, latencies mean nothing",
                )
            )
        return figures

    async def _cost_of_change(self, number: int) -> Figure:
        async def used(changes: int) -> float:
            before = usage(self._zonal.pid)
            for _ in range(changes):
                self._turn += 1
                self._put(changed_slice(self._site.shape, number, port=self._site.ports[0], turn=self._turn))
                await asyncio.sleep(0.25)
            return usage(self._zonal.pid).since(before).total

        async def idle(changes: int) -> float:
            before = usage(self._zonal.pid)
            await asyncio.sleep(0.25 * changes)
            return usage(self._zonal.pid).since(before).total

        changes = 2 * self._effort.changes
        rest = await idle(changes)
        return Figure(
            name="one slice changed: CPU of all processes",
            value=1000 * (await used(changes) - rest) / changes,
            unit="ms",
            bar=20,
            detail=f"mean of {changes} changes, less {1000 * rest / changes:.1f} ms that pass without any",
        )

    async def _scrape(self, pages: list[tuple[float, int]], is_over: asyncio.Event) -> None:
        while not is_over.is_set():
            started = time.monotonic()
            size = await page_bytes(self._zonal.admin_port)
            pages.append((time.monotonic() - started, size))
            await asyncio.sleep(max(0.0, started + 1.0 - time.monotonic()))

    async def _loaded_beside(self, changes: Changes, seconds: float) -> Beside:
        return await load_beside(changes, lambda: self._load(seconds), self._zonal.pid)

    async def _load(self, seconds: float) -> Latencies:
        hosts, before = self._hosts(_BUSY_HOSTS), waited_seconds(self._zonal.pid)
        latencies = await send(self._zonal.http_port, hosts=hosts, rate=_LOAD_PER_SECOND, seconds=seconds)
        self._waited.append((waited_seconds(self._zonal.pid) - before) / seconds)
        return latencies

    def _changes(self) -> Changes:
        while True:
            self._turn += 1
            for number in range(1, self._site.shape.ingresses):
                changed = changed_slice(self._site.shape, number, port=self._site.ports[0], turn=self._turn)
                yield partial(self._put, changed)

    def _hosts(self, most: int) -> list[str]:
        return [host_of(number) for number in range(min(most, self._site.shape.ingresses))]

    def _put(self, *documents: Document) -> None:
        for document in documents:
            self._site.server.put(document)


def all_of(measures: Measures) -> dict[str, Callable[[], Awaitable[list[Figure]]]]:
    """Every measurement by the name that the command line knows."""
    return {
        "slice": measures.slice_change,
        "certificate": measures.certificate_change,
        "ingress": measures.ingress_change,
        "storm": measures.storm,
        "scrapes": measures.scrapes,
    }


def _der(secret: Document) -> bytes:
    pem = base64.b64decode(secret["data"]["tls.crt"])
    return x509.load_pem_x509_certificates(pem)[0].public_bytes(Encoding.DER)

"""Reads the ingress's admin port: how it counted requests, and which model it serves.

Waits until the pages show what is expected. Does not know phases.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

import aiohttp
import msgspec
from prometheus_client.parser import text_string_to_metric_families

from balancer.metrics.definitions import REQUESTS, ZONE_BLIND_COST, ZONE_COST, ZONE_DECISIONS
from ingress.demo.cluster import NAMESPACE, SERVICE, Document

# A saved edit applies within 2 s. A busy machine may take longer, but beyond this the demo has failed.
_SHOWN_SECONDS = 15.0
# An answer reaches the client a moment before it is counted.
_COUNTED_SECONDS = 2.0
_LOOK_AGAIN_SECONDS = 0.02


class ObservingFailed(Exception):
    """The admin port did not answer, or did not show what was expected in time. The text is one line."""


class RequestCounts(msgspec.Struct, frozen=True):
    """How the ingress counted the requests to one Service of the demo: by zone of the endpoint, and by reason.

    `dollars` is the cost of their bytes between zones, `blind_dollars` their cost without zones.
    """

    by_zone: Mapping[str, int] = {}
    reasons: Mapping[str, int] = {}
    dollars: float = 0.0
    blind_dollars: float = 0.0

    @property
    def requests(self) -> int:
        return sum(self.by_zone.values())

    @property
    def saved_dollars(self) -> float:
        """How much less they cost than without zones. Less than nothing: they cost more."""
        return self.blind_dollars - self.dollars

    def since(self, earlier: RequestCounts) -> RequestCounts:
        """What was counted after `earlier`, without zones and reasons that have no requests."""
        return RequestCounts(
            by_zone=dict(Counter(self.by_zone) - Counter(earlier.by_zone)),
            reasons=dict(Counter(self.reasons) - Counter(earlier.reasons)),
            dollars=self.dollars - earlier.dollars,
            blind_dollars=self.blind_dollars - earlier.blind_dollars,
        )


def account_of(page: str, service: str = SERVICE) -> RequestCounts:
    """The account of `service` in a `/metrics` page (Prometheus text format)."""
    by_zone: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    dollars = blind_dollars = 0.0
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if (sample.labels.get("namespace"), sample.labels.get("service")) != (NAMESPACE, service):
                continue
            if sample.name == REQUESTS.name:
                by_zone[sample.labels["to_zone"]] += int(sample.value)
            elif sample.name == ZONE_DECISIONS.name:
                reasons[sample.labels["reason"]] += int(sample.value)
            elif sample.name == ZONE_COST.name:
                dollars += sample.value
            elif sample.name == ZONE_BLIND_COST.name:
                blind_dollars += sample.value
    return RequestCounts(by_zone=dict(by_zone), reasons=dict(reasons), dollars=dollars, blind_dollars=blind_dollars)


class AdminPort:
    """The admin port of one ingress. Every method raises `ObservingFailed`."""

    __slots__ = ("_session", "url")

    def __init__(self, session: aiohttp.ClientSession, *, url: str) -> None:
        self._session = session
        self.url = url

    async def account(self, service: str = SERVICE) -> RequestCounts:
        """What has been counted of `service` until now."""
        return account_of((await self._page("/metrics")).decode(), service)

    async def account_since(
        self,
        earlier: RequestCounts,
        service: str = SERVICE,
        *,
        requests: int,
        limit_seconds: float = _COUNTED_SECONDS,
    ) -> RequestCounts:
        """What was counted after `earlier`, once that is `requests` or more, or else after `limit_seconds`."""
        deadline = _deadline(limit_seconds)
        while True:
            account = (await self.account(service)).since(earlier)
            if account.requests >= requests or _is_over(deadline):
                return account
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def findings(self) -> tuple[str, ...]:
        """A line for each present finding, the most harmful first."""
        found: list[Document] = msgspec.json.decode(await self._page("/debug/findings"))
        return tuple(
            f"{each['severity']}: {each['kind']} {each['namespace']}/{each['name']}: {each['message']}"
            for each in found
        )

    async def dollars_per_gigabyte(self) -> float:
        """The price of a gigabyte between two zones without a price of their own."""
        return float((await self._model())["zones"]["prices"]["default"])

    async def wait_until_model(
        self, is_expected: Callable[[Document], bool], *, limit_seconds: float = _SHOWN_SECONDS
    ) -> None:
        """Returns when the model in use is as expected. After `limit_seconds` the wait has failed."""
        deadline = _deadline(limit_seconds)
        while True:
            if is_expected(await self._model()):
                return
            if _is_over(deadline):
                raise ObservingFailed(f"the ingress did not take up a change within {limit_seconds:g} s")
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def _model(self) -> Document:
        model: Document = msgspec.json.decode(await self._page("/debug/model")).get("model", {})
        return model

    async def _page(self, path: str) -> bytes:
        try:
            async with self._session.get(self.url + path, raise_for_status=True) as response:
                return await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise ObservingFailed(
                f"the admin port of the ingress failed: {str(error) or type(error).__name__}"
            ) from None


def _deadline(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


def _is_over(deadline: float) -> bool:
    return asyncio.get_running_loop().time() > deadline

"""What the ingress says of itself on its admin port: how it counted requests, and which model it serves.

Responsible for reading those pages and for waiting until they say what is expected. It must not know phases.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

import aiohttp
import msgspec
from prometheus_client.parser import text_string_to_metric_families

from balancer.metrics.definitions import REQUESTS, ZONE_DECISIONS
from ingress.demo.cluster import NAMESPACE, SERVICE, Document

# A saved edit applies within 2 s; a busy machine may take longer, and beyond this the demo has failed.
_SHOWN_SECONDS = 15.0
# An answer reaches the client a moment before it is counted.
_COUNTED_SECONDS = 2.0
_LOOK_AGAIN_SECONDS = 0.02


class ObservingFailed(Exception):
    """The admin port did not answer, or not what was expected in time; the text is one line."""


class Account(msgspec.Struct, frozen=True):
    """How the ingress counted the requests to the demo's Service: by zone of the endpoint, and by reason."""

    by_zone: Mapping[str, int] = {}
    reasons: Mapping[str, int] = {}

    @property
    def requests(self) -> int:
        return sum(self.by_zone.values())

    def since(self, earlier: Account) -> Account:
        """What was counted after `earlier`; zones and reasons without any are left out."""
        return Account(
            by_zone=dict(Counter(self.by_zone) - Counter(earlier.by_zone)),
            reasons=dict(Counter(self.reasons) - Counter(earlier.reasons)),
        )


def account_of(page: str) -> Account:
    """The account in a `/metrics` page (Prometheus text format)."""
    by_zone: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if (sample.labels.get("namespace"), sample.labels.get("service")) != (NAMESPACE, SERVICE):
                continue
            if sample.name == REQUESTS.name:
                by_zone[sample.labels["to_zone"]] += int(sample.value)
            elif sample.name == ZONE_DECISIONS.name:
                reasons[sample.labels["reason"]] += int(sample.value)
    return Account(by_zone=dict(by_zone), reasons=dict(reasons))


class AdminPort:
    """The admin port of one ingress. Every method raises `ObservingFailed`."""

    __slots__ = ("_session", "url")

    def __init__(self, session: aiohttp.ClientSession, *, url: str) -> None:
        self._session = session
        self.url = url

    async def account(self) -> Account:
        """What has been counted until now."""
        return account_of((await self._page("/metrics")).decode())

    async def account_since(self, earlier: Account, *, requests: int) -> Account:
        """What was counted after `earlier`, once that is `requests` or more; if it stays below, what there is."""
        deadline = _deadline(_COUNTED_SECONDS)
        while True:
            account = (await self.account()).since(earlier)
            if account.requests >= requests or _is_over(deadline):
                return account
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def wait_until_model(self, is_expected: Callable[[Document], bool]) -> None:
        """Returns when the model in use is as expected; within 15 s, or the wait has failed."""
        deadline = _deadline(_SHOWN_SECONDS)
        while True:
            if is_expected(await self._model()):
                return
            if _is_over(deadline):
                raise ObservingFailed(f"the ingress did not take up a change within {_SHOWN_SECONDS:g} s")
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

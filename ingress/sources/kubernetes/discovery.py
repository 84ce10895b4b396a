"""Asks the API server again and again which kinds of Gateway API it serves, and reports what has changed.

`served_kinds` decides what an answer means. Does not know how a kind is followed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from ingress.objects.gateway_references import GATEWAY_GROUP
from ingress.objects.kinds import Kind
from ingress.objects.zone_policy import ZONE_POLICY_GROUP, ZONE_POLICY_VERSION
from ingress.sources.kubernetes.api import ApiError, ApiServer
from ingress.sources.kubernetes.decoding import DecodingError
from ingress.sources.kubernetes.outage import Outage
from ingress.sources.kubernetes.reflecting import ReflectorTimes
from ingress.sources.kubernetes.scope_events import Condition
from ingress.sources.kubernetes.served_kinds import ServedKinds, plurals_in, told, versions_in

_GROUP_PATH: Final = f"/apis/{GATEWAY_GROUP}"
_OWN_PATH: Final = f"/apis/{ZONE_POLICY_GROUP}/{ZONE_POLICY_VERSION}"
_BODY_BYTES_MAX: Final = 1024 * 1024  # both documents have some kilobytes

_LOG = logging.getLogger(__name__)


class _LookFailed(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"discovery: HTTP {status}")
        self.status = status


class Discovery:
    """Looks at the start and then every `discovery_seconds`; sooner after a failure."""

    __slots__ = ("_api", "_fail", "_failures", "_outage", "_random", "_served", "_take", "_times")

    def __init__(
        self,
        api: ApiServer,
        *,
        take: Callable[[Mapping[Kind, str]], None],
        fail: Callable[[Condition, str], None],
        outage: Outage,
        times: ReflectorTimes,
        random: Callable[[], float],
    ) -> None:
        """`take` gets the changes of `ServedKinds.look`. `fail` gets why a look failed; nothing has changed then."""
        self._api = api
        self._take = take
        self._fail = fail
        self._outage = outage
        self._times = times
        self._random = random
        self._served = ServedKinds()
        self._failures = 0

    async def run(self) -> None:
        """Looks until it is cancelled. Nothing that the API server answers ends it."""
        try:
            while True:
                problem = await self._look()
                if problem is None:
                    self._failures = 0
                    self._outage.served(self)
                    await asyncio.sleep(self._times.discovery_seconds * (1 - self._random() / 10))
                else:
                    self._fail(*problem)
                    await self._outage.wait(self, self._pause_seconds(), scout_seconds=None)
        finally:
            self._outage.resign(self)

    async def _look(self) -> tuple[Condition, str] | None:
        try:
            group = await self._read(_GROUP_PATH)
            served = {}
            for version in versions_in(group) if group else ():
                listed = await self._read(f"{_GROUP_PATH}/{version}")
                served[version] = plurals_in(listed) if listed else frozenset()
            if served:
                own = await self._read(_OWN_PATH)
                served[ZONE_POLICY_VERSION] = plurals_in(own) if own else frozenset()
        except _LookFailed as refused:
            is_forbidden = refused.status == HTTPStatus.FORBIDDEN
            return Condition.FORBIDDEN if is_forbidden else Condition.UNREACHABLE, str(refused)
        except DecodingError as error:
            return Condition.REJECTED, str(error)
        except ApiError as error:
            return Condition.UNREACHABLE, error.problem
        if changes := self._served.look(served):
            _LOG.info("Gateway API: the API server %s", told(changes))
            self._take(changes)
        return None

    async def _read(self, path: str) -> bytes:
        """The document at a path; empty if there is none. Raises `_LookFailed` and `ApiError`."""
        async with self._api.request("GET", path) as response:
            if response.status == HTTPStatus.NOT_FOUND:
                return b""
            if response.status != HTTPStatus.OK:
                raise _LookFailed(response.status)
            return await response.read(_BODY_BYTES_MAX)

    def _pause_seconds(self) -> float:
        times = self._times
        ceiling = min(times.backoff_first_seconds * times.backoff_factor**self._failures, times.backoff_max_seconds)
        if ceiling < times.backoff_max_seconds:
            self._failures += 1
        return ceiling * (1 + self._random()) / 2

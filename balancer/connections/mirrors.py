"""Sends copies of requests to mirrors in bounded time and number, divided among tenants; forgets what comes back.

Uses the client that asks auth services, with limits of its own: no mirror takes room from an auth service. What a copy
holds is decided in `balancer/matching/mirroring.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from balancer.connections.auth_services import AuthClient, AuthLimits
from balancer.matching.gates.external_auth.answers import AuthAnswer
from balancer.matching.gates.external_auth.requests import AuthRequest
from balancer.runtime.absences import NEVER_ABSENT, Absences

_LIMITS = AuthLimits(deadline_seconds=10.0, at_once=64, waiting=64, in_all=512)


class MirrorClient:
    """A `CopySender`. Made inside a running loop."""

    __slots__ = ("_client",)

    def __init__(self, limits: AuthLimits = _LIMITS, absences: Absences = NEVER_ABSENT) -> None:
        """`absences` are those of the loop."""
        self._client = AuthClient(limits, called="mirror", absences=absences)

    def send(self, copy: AuthRequest, ended: Callable[[], None]) -> bool:
        """See `CopySender.send`. The answer does not matter, nor whether there is one."""

        def answered(_answer: AuthAnswer | None) -> None:
            ended()

        return self._client.ask(copy, answered) is not None

    @property
    def busy(self) -> bool:
        """Whether a copy is under way."""
        return self._client.busy

    async def stop(self) -> None:
        """Cancels what is under way and closes every connection."""
        await self._client.stop()

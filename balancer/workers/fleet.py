"""All workers as one: what the rest of the process asks of those who serve, in this process or in others.

Responsible for the promise alone. It must not know how it is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from balancer.explaining import Explanation
from balancer.metrics.slots import Buffer
from balancer.model import Publication
from balancer.workers.background import RecordedBackground
from balancer.workers.reports import FleetReport


class NoAnswer(Exception):
    """No worker says anything just now; the message is one line."""


class Fleet(Protocol):
    """Some workers that serve on the same two ports."""

    @property
    def http_port(self) -> int:
        """The port in use, once open."""

    @property
    def https_port(self) -> int:
        """The port in use, once open."""

    def open(self) -> None:
        """Bind the ports and begin to start. Raises `CannotListen`."""

    async def start(self) -> None:
        """Wait until every worker accepts connections, or has failed its first try to start."""

    def publish(self, publication: Publication) -> None:
        """Have every worker serve `publication` as soon as it can. Never blocks, never fails."""

    def readiness(self) -> str | None:
        """None, or why clients should not come."""

    async def report(self) -> FleetReport:
        """What the workers say about themselves, within half a second; of those that do not, what they said last."""

    def tables(self) -> Sequence[Buffer]:
        """Every table that counts were ever written to, for their sums."""

    async def explain(
        self, url: str, fields: Sequence[str], *, client: str, background: RecordedBackground
    ) -> Explanation:
        """Where a request goes in one worker. Raises `BadQuestion` and `NoAnswer`."""

    async def drain(self, *, grace_seconds: float, limit_seconds: float) -> None:
        """Have every worker drain (see `Worker.drain`), and wait for their ends."""

    async def stop(self) -> None:
        """End what is left, at once."""

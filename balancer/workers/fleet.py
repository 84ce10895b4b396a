"""Defines a fleet: what the rest of the process asks of all workers, in this process or in others.

Interfaces only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from balancer.explain.drafts import Draft
from balancer.metrics.slots import Buffer
from balancer.model.publication import Publication
from balancer.picking.failing import EndpointPlace, FailingRow
from balancer.sharing.layout import AmongReplicas
from balancer.workers.messages import SuspectRow
from balancer.workers.reports import FleetReport


class NoAnswer(Exception):
    """No worker answers now. The message is one line."""


class Fleet(Protocol):
    """Workers that serve on the same ports."""

    @property
    def ports(self) -> Mapping[str, int]:
        """The ports in use by the names of their sockets, once open."""

    @property
    def among_replicas(self) -> AmongReplicas:
        """What replicas share."""

    def open(self) -> None:
        """Binds the ports and begins to start workers. Raises `CannotListen`."""

    async def start(self) -> None:
        """Waits until every worker accepts connections, or its first start has failed."""

    def publish(self, publication: Publication) -> None:
        """Makes every worker serve `publication` as soon as it can. Never blocks, never fails."""

    def generation_in_use(self) -> int:
        """The newest publication that every accepting worker serves, or a newer one; 0 if there is none."""

    def readiness(self) -> str | None:
        """Why clients should not come; None if they may."""

    async def report(self, about: tuple[str, str] | None = None) -> FleetReport:
        """What the workers report within half a second. A worker that does not answer counts with its last report.

        `about` is a Service, as namespace and name, whose endpoints are reported one by one.
        """

    def failing(self) -> Sequence[Mapping[EndpointPlace, FailingRow]]:
        """How endpoints do that failed lately or that others suspect, as each worker has told."""

    def suspect(self, rows: tuple[SuspectRow, ...]) -> None:
        """Tells all workers what others say about endpoints."""

    def processes(self) -> Mapping[int, int]:
        """The process id of each worker with a process of its own, by the worker's number."""

    def tables(self) -> Sequence[Buffer]:
        """Every table that counts were ever written to, for their sums."""

    async def explain(self, url: str, fields: Sequence[str], *, client: str) -> Draft:
        """Where a request goes in one worker. Raises `BadQuestion` and `NoAnswer`."""

    async def drain(self, *, grace_seconds: float, limit_seconds: float) -> None:
        """Makes every worker drain (see `Worker.drain`), and waits for their ends."""

    async def stop(self) -> None:
        """Ends the remaining workers at once."""

"""The translation and one worker in the test's own event loop, for tests that serve many small clusters in turn.

Everything between the manifests and the wire is real; only the process around it is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from balancer.connections.listeners import listen, port_of
from balancer.connections.tls import self_signed
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import MINIMUM_BYTES, SlotTable
from balancer.model.publication import Publication
from balancer.runtime.steps import finished
from balancer.workers.worker import Worker, WorkerTimes
from ingress.findings import Finding
from ingress.objects.converting import decode
from ingress.objects.kinds import Kind
from ingress.settings.context import TranslationContext
from ingress.sources.events import Replaced
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Memories, translate
from tests.integration.manifests import Document

_NO_DESCRIPTOR = -1  # the access log is off


class AskedWorker(Worker):
    """A worker that says at once what its reports say in steps."""

    def left_out(self) -> Counter[tuple[str, str, str]]:
        """How many ready endpoints health leaves out, by namespace, Service and zone."""
        return finished(self.judging()).left_out


class DataPlane:
    """A worker that serves whichever cluster it was given last."""

    def __init__(self, *, handshake_seconds: float) -> None:
        self.counters = bytearray(MINIMUM_BYTES * 16)
        recorder = Recorder(SlotTable(self.counters))
        log = AccessLog(_NO_DESCRIPTOR, AccessLogFormat.OFF, recorder.access_log_dropped)
        self.worker = AskedWorker(
            recorder=recorder, access_log=log, fallback=self_signed(), times=WorkerTimes(handshake_seconds)
        )
        self.http_port = self.https_port = 0
        self._generation = 0
        self._memories = Memories()

    async def listen(self) -> None:
        http, https = listen("127.0.0.1", 0), listen("127.0.0.1", 0)
        await self.worker.listen({"http": http, "https": https})
        self.http_port, self.https_port = port_of(http), port_of(https)

    def serve(self, documents: Iterable[Document], context: TranslationContext) -> tuple[Finding, ...]:
        """Serve the cluster that consists of these objects; what was wrong with them."""
        objects = [item for document in documents if (item := decode(document)) is not None]
        inventory = Inventory()
        for kind in Kind:
            inventory.apply(Replaced(kind, tuple(item for item in objects if item.kind is kind)))
        translation = translate(inventory, context, memories=self._memories)
        self._generation += 1
        self.worker.swap(Publication(self._generation, translation.model))
        return translation.findings


@asynccontextmanager
async def data_plane(*, handshake_seconds: float = 10.0) -> AsyncIterator[DataPlane]:
    """A data plane that listens, stopped at the end."""
    plane = DataPlane(handshake_seconds=handshake_seconds)
    await plane.listen()
    try:
        yield plane
    finally:
        await plane.worker.stop()

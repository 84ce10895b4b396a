"""How long a worker's event loop is held by the change of one large backend among thousands."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Iterator

import msgspec

from balancer.connections.tls import self_signed
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import MINIMUM_BYTES, SlotTable
from balancer.model.publication import Publication, RoutingModel
from balancer.workers.worker import Worker
from ingress.objects.converting import decode_item
from ingress.objects.kinds import Kind
from ingress.settings.context import TranslationContext
from ingress.sources.events import Replaced, Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Translation, translate, with_endpoints
from tests.bench.control.cluster import Shape, changed_slice, documents, name_of, namespace_of

_ROUNDS = 15
_PORT = 8080
_CONTEXT = TranslationContext(allow_local_endpoints=True, node_name="node-000")


class Swap(msgspec.Struct, frozen=True):
    """Milliseconds of the event loop: the median of the changes, and the first publication."""

    change: float
    first: float


def measure_swap(shape: Shape) -> Swap:
    """Swap models that differ in one endpoint of the largest backend, and time each."""
    models = list(_models(shape))
    return asyncio.run(_swaps(models))


def _models(shape: Shape) -> Iterator[RoutingModel]:
    inventory, last = _inventory(shape), Translation(RoutingModel(), ())
    for turn in range(_ROUNDS + 1):
        item = decode_item(Kind.ENDPOINT_SLICE, changed_slice(shape, 0, port=_PORT, turn=turn))
        inventory.apply(Upserted(item))
        service = (namespace_of(shape, 0), name_of(0))
        last = with_endpoints(last, [service], inventory) if turn else translate(inventory, _CONTEXT)
        yield last.model


def _inventory(shape: Shape) -> Inventory:
    by_kind: dict[Kind, list[object]] = {kind: [] for kind in Kind}
    for document in documents(shape, port=_PORT):
        kind = Kind(document["kind"])
        by_kind[kind].append(decode_item(kind, document))
    inventory = Inventory()
    for kind, objects in by_kind.items():
        inventory.apply(Replaced(kind, tuple(objects)))  # type: ignore[arg-type]
    return inventory


async def _swaps(models: list[RoutingModel]) -> Swap:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    recorder = Recorder(SlotTable(bytearray(MINIMUM_BYTES)))
    log = AccessLog(nowhere, AccessLogFormat.OFF, recorder.access_log_dropped)
    worker = Worker(recorder=recorder, access_log=log, fallback=self_signed())
    taken = []
    for generation, model in enumerate(models, 1):
        started = time.perf_counter()
        worker.swap(Publication(generation=generation, model=model))
        taken.append(1000 * (time.perf_counter() - started))
        await asyncio.sleep(0)
    await worker.stop()
    return Swap(statistics.median(taken[1:]), taken[0])


if __name__ == "__main__":
    measured = measure_swap(Shape(ingresses=int(sys.argv[1])))
    print(measured.change, measured.first)

"""How long a worker's event loop is held by the change of one large backend among thousands, and by that of all."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from balancer.connections.tls import self_signed
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import MINIMUM_BYTES, SlotTable
from balancer.model.publication import Publication, RoutingModel
from balancer.model.zones import ZonePolicyName
from balancer.runtime.garbage import short_searches
from balancer.runtime.steps import finished
from balancer.workers.swapping import Swaps
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
_POLICIES = (ZonePolicyName.OFF, ZonePolicyName.PREFER_ZONE) * 3
_CONTEXT = TranslationContext(allow_local_endpoints=True, node_name="node-000")


class Swap(msgspec.Struct, frozen=True):
    """Milliseconds of CPU of the event loop: the longest slice of each change, medians over the rounds.

    `change`: one endpoint of the largest backend; `flip`: the zone policy of every backend; `flip_total`: all slices of
    that; `first`: the first publication, which is used at once.
    """

    change: float
    flip: float
    flip_total: float
    first: float


def measure_swap(shape: Shape) -> Swap:
    """Swaps models that differ in one endpoint of the largest backend, then in the policy of all, and times each."""
    models = list(_models(shape))
    return asyncio.run(_swaps(models, [_flipped(models[-1], name) for name in _POLICIES]))


def _flipped(model: RoutingModel, name: ZonePolicyName) -> RoutingModel:
    policy = msgspec.structs.replace(model.backends[0].zone_policy, name=name)
    backends = tuple(msgspec.structs.replace(backend, zone_policy=policy) for backend in model.backends)
    return msgspec.structs.replace(model, backends=backends)


def _models(shape: Shape) -> Iterator[RoutingModel]:
    inventory, last = _inventory(shape), Translation(RoutingModel(), ())
    for turn in range(_ROUNDS + 1):
        item = decode_item(Kind.ENDPOINT_SLICE, changed_slice(shape, 0, port=_PORT, turn=turn))
        inventory.apply(Upserted(item))
        service = (namespace_of(shape, 0), name_of(0))
        last = finished(with_endpoints(last, [service], inventory)) if turn else translate(inventory, _CONTEXT)
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


class _Loop:
    """Turns by hand, and the CPU time of each."""

    def __init__(self, worker: Worker) -> None:
        self._later: deque[Callable[[], None]] = deque()
        self._generation = 0
        self._steps = worker.swapping
        self._swaps = Swaps(used=lambda _: None, failed=_fail, later=lambda _, call: self._later.append(call))

    def slices(self, model: RoutingModel) -> list[float]:
        """The milliseconds of each slice."""
        self._generation += 1
        publication = Publication(generation=self._generation, model=model)
        taken = [_milliseconds(lambda: self._swaps.take(self._generation, self._steps(publication)))]
        while self._later:
            taken.append(_milliseconds(self._later.popleft()))
        return taken


def _fail(_generation: int, error: Exception) -> None:
    raise error


def _milliseconds(call: Callable[[], None]) -> float:
    started = time.thread_time()
    call()
    return 1000 * (time.thread_time() - started)


async def _swaps(models: list[RoutingModel], flips: list[RoutingModel]) -> Swap:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    recorder = Recorder(SlotTable(bytearray(MINIMUM_BYTES)))
    log = AccessLog(nowhere, AccessLogFormat.OFF, recorder.access_log_dropped)
    worker = Worker(recorder=recorder, access_log=log, fallback=self_signed())
    loop = _Loop(worker)
    with short_searches():
        first, *changes = [loop.slices(model) for model in models]
        flipped = [loop.slices(model) for model in flips]
    await worker.stop()
    return Swap(
        change=statistics.median(map(max, changes)),
        flip=statistics.median(map(max, flipped)),
        flip_total=statistics.median(map(sum, flipped)),
        first=sum(first),
    )


if __name__ == "__main__":
    measured = measure_swap(Shape(ingresses=int(sys.argv[1])))
    print(measured.change, measured.flip, measured.flip_total, measured.first)

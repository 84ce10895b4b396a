"""Publications on their way to worker processes: what each of them lacks, encoded once for all that lack the same.

Responsible for what is sent next to whom, the certificate that all of them fall back on first. It must not know what
carries it.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakValueDictionary

from balancer.model import Certificate, Publication, RoutingModel
from balancer.workers.deltas import Piece, delta, pieces
from balancer.workers.messages import Fallback, encode

NOTHING = Publication(generation=0, model=RoutingModel())
"""What a worker serves that was never sent anything."""


class Shipment:
    """What turns one publication into another, frame by frame; made as somebody first asks for it, and then kept."""

    __slots__ = ("__weakref__", "_frames", "_pieces", "target")

    def __init__(self, before: Publication, target: Publication) -> None:
        self.target = target
        self._pieces: Iterator[Piece] = pieces(delta(before.model, target.model), target.generation)
        self._frames: list[bytes] = []

    def frame(self, number: int) -> bytes | None:
        """The frame of that number, from 0; None after the last. Raises `BrokenChannel` for one beyond the bound."""
        while len(self._frames) <= number:
            piece = next(self._pieces, None)
            if piece is None:
                return None
            self._frames.append(encode(piece))
        return self._frames[number]


class Dispatch:
    """The newest publication, and the shipments under way. A shipment is forgotten with the last who needs it."""

    __slots__ = ("_under_way", "first_frame", "newest")

    def __init__(self, fallback: Certificate) -> None:
        """`fallback` is for the handshakes that no certificate fits."""
        self.first_frame = encode(Fallback(fallback))
        self.newest = NOTHING
        self._under_way: WeakValueDictionary[tuple[int, int], Shipment] = WeakValueDictionary()

    def shipment(self, before: Publication) -> Shipment:
        """What leads from `before` to the newest publication."""
        key = before.generation, self.newest.generation
        found = self._under_way.get(key)
        if found is None:
            found = self._under_way[key] = Shipment(before, self.newest)
        return found


class Consignee:
    """One worker: what was sent to it, and what comes next. While it reads slowly, what is newer overtakes the old."""

    __slots__ = ("_dispatch", "_is_new", "_next", "_sent", "_shipment")

    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._is_new = True
        self._sent = NOTHING
        self._shipment: Shipment | None = None
        self._next = 0

    def next_frame(self) -> bytes | None:
        """What to send when there is room; None if all has been sent. Raises `BrokenChannel`."""
        if self._is_new:
            self._is_new = False
            return self._dispatch.first_frame
        while True:
            if self._shipment is None:
                if self._sent.generation == self._dispatch.newest.generation:
                    return None
                self._shipment, self._next = self._dispatch.shipment(self._sent), 0
            frame = self._shipment.frame(self._next)
            if frame is not None:
                self._next += 1
                return frame
            self._sent, self._shipment = self._shipment.target, None

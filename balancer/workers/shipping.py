"""Decides what is sent next to which worker: the fallback certificate, then the publications that it lacks.

Workers that lack the same share its encoded frames. Does not know what carries the frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakValueDictionary

from balancer.model.certificates import Certificate
from balancer.model.publication import Publication, RoutingModel
from balancer.model.routes import Host
from balancer.runtime.steps import nothing
from balancer.workers.deltas import Delta, Piece, delta, pieces
from balancer.workers.messages import Fallback, NotSayable, encode
from balancer.workers.parts import PARTS

NOTHING = Publication(generation=0, model=RoutingModel())
"""The publication of a worker that was never sent anything."""

_OWNERS_NAMED = 5  # of a host with many owners, so that a log line stays one line


class Shipment:
    """Turns one publication into another, frame by frame. A frame is made when it is first asked for, and then kept."""

    __slots__ = ("__weakref__", "_frames", "_pieces", "_problem", "target")

    def __init__(self, before: Publication, target: Publication, let_in: Callable[[], None]) -> None:
        """`let_in` is called between pieces of work of some tens of microseconds."""
        self.target = target
        self._pieces = _pieces(before, target, let_in)
        self._frames: list[bytes] = []
        self._problem: NotSayable | None = None

    def frame(self, number: int) -> bytes | None:
        """The frame with that number, from 0; None after the last. Raises `NotSayable`, then for every caller."""
        while len(self._frames) <= number:
            if self._problem is not None:
                raise self._problem
            piece = next(self._pieces, None)
            if piece is None:
                return None
            try:
                self._frames.append(encode(piece))
            except NotSayable as error:
                self._problem = NotSayable(f"{error}, in {_place(piece)}")
        return self._frames[number]


def _pieces(before: Publication, target: Publication, let_in: Callable[[], None]) -> Iterator[Piece]:
    change = delta(before.model, target.model, between=let_in)
    for piece in pieces(change, target.generation, base=before.generation):
        let_in()
        yield piece


def _place(piece: Piece) -> str:
    """Names the owner of a piece that cannot be encoded, so that a person can find it."""
    change = piece.delta
    for collection in PARTS:
        for part in getattr(change, collection.name):
            alone: dict[str, Any] = {collection.name: (part,)}
            try:
                encode(Piece(piece.generation, last=False, delta=Delta(**alone)))
            except NotSayable:
                return _name(part)
    return "what is not of one host, backend or certificate"


def _name(part: Any) -> str:
    if not isinstance(part, Host):
        return f"{type(part).__name__} {part.key}"
    owners = sorted({route.owner.full_name for route in part.routes})[:_OWNERS_NAMED]
    return f"host {part.name or '*'} of Ingress {', '.join(owners)}"


class Dispatch:
    """The newest publication, and the shipments under way. A shipment is dropped with the last worker that needs it.

    A publication that cannot be sent is given up: the last publication that a worker serves becomes the newest again.
    """

    __slots__ = ("_let_in", "_refused", "_served", "_under_way", "first_frame", "newest")

    def __init__(self, fallback: Certificate, *, let_in: Callable[[], None] = nothing) -> None:
        """`fallback` is the certificate of handshakes that no other certificate fits. `let_in` is that of shipments."""
        self._let_in = let_in
        self.first_frame = encode(Fallback(fallback))
        self.newest = NOTHING
        self._served = NOTHING
        self._refused = 0
        self._under_way: WeakValueDictionary[tuple[int, int], Shipment] = WeakValueDictionary()

    def serves(self, publication: Publication) -> None:
        """A worker serves `publication`."""
        if publication.generation > max(self._served.generation, self._refused):
            self._served = publication

    def refuse(self, generation: int) -> bool:
        """Gives a publication up. Returns whether that is news."""
        is_news = generation > self._refused
        self._refused = max(generation, self._refused)
        if self.newest.generation == generation:
            self.newest = self._served
        return is_news

    def shipment(self, before: Publication) -> Shipment:
        """The change from `before` to the newest publication."""
        key = before.generation, self.newest.generation
        found = self._under_way.get(key)
        if found is None:
            found = self._under_way[key] = Shipment(before, self.newest, self._let_in)
        return found


class Consignee:
    """One worker: what was sent to it, and what comes next.

    A worker gets no other publication until it serves the last one, and then the newest.
    """

    __slots__ = ("_dispatch", "_is_new", "_next", "_refused", "_sent", "_served", "_shipment", "_unconfirmed")

    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._is_new = True
        self._sent = NOTHING
        self._served = NOTHING
        self._unconfirmed: list[Publication] = []
        self._refused = 0  # the generation that is not sent again
        self._shipment: Shipment | None = None
        self._next = 0

    def next_frame(self) -> bytes | None:
        """The next frame to send when there is room; None if everything was sent.

        Raises `NotSayable` once for each publication that cannot be sent, which is given up.
        """
        if self._is_new:
            self._is_new = False
            return self._dispatch.first_frame
        while True:
            if self._shipment is None:
                if self._sent.generation != self._served.generation:
                    return None  # the worker is busy: the next difference leaves out what changes again meanwhile
                if self._dispatch.newest.generation in {self._sent.generation, self._refused}:
                    return None
                self._shipment = self._dispatch.shipment(self._sent)
                self._next = 0
                self._unconfirmed.append(self._shipment.target)
            try:
                frame = self._shipment.frame(self._next)
            except NotSayable as error:
                generation = self._shipment.target.generation
                self._refused = generation
                self._shipment = None
                if self._dispatch.refuse(generation):
                    raise NotSayable(f"publication {generation}: {error}") from None
                continue
            if frame is not None:
                self._next += 1
                return frame
            self._sent = self._shipment.target
            self._shipment = None

    def serves(self, generation: int) -> None:
        """The worker reports that it serves this publication, which was sent to it."""
        for publication in self._unconfirmed:
            if publication.generation == generation:
                self._served = publication
                self._dispatch.serves(publication)
        if self._served in self._unconfirmed:
            del self._unconfirmed[: self._unconfirmed.index(self._served) + 1]

    def refuses(self, generation: int) -> bool:
        """The worker reports that it serves the publication before instead. Returns whether that is news.

        Later pieces depend on what the worker lacks, so it refuses these as well.
        """
        self._refused = generation
        self._sent = self._served
        self._shipment = None
        self._unconfirmed.clear()
        return self._dispatch.refuse(generation)

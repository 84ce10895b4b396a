"""Whatever comes when, each worker comes to the newest publication, and what several lack is encoded once."""

from __future__ import annotations

import gc

from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.model import Publication, RoutingModel
from balancer.tls import self_signed
from balancer.workers.deltas import Gathering, Piece
from balancer.workers.messages import TO_WORKER, Fallback, MessageReader, ToWorker
from balancer.workers.shipping import NOTHING, Consignee, Dispatch
from tests import builders as build
from tests.unit.balancer.any_models import models

FALLBACK = self_signed()


class Receiver:
    """A worker that takes a frame whenever it is told to, and does with it what a worker does.

    `frames` are those after the first.
    """

    def __init__(self, dispatch: Dispatch) -> None:
        self.consignee = Consignee(dispatch)
        self.frames: list[bytes] = []
        self.served: list[Publication] = []
        self._reader: MessageReader[ToWorker] = MessageReader(TO_WORKER)
        self._gathering = Gathering()
        first = self.consignee.next_frame()
        assert first is not None
        self._reader.feed(first)
        self.first_message = self._reader.next_message()

    def take(self) -> bool:
        """Whether there was anything to take."""
        frame = self.consignee.next_frame()
        if frame is None:
            return False
        self.frames.append(frame)
        self._reader.feed(frame)
        piece = self._reader.next_message()
        assert isinstance(piece, Piece)
        publication = self._gathering.add(piece)
        if publication is not None:
            self.served.append(publication)
        return True

    def take_all(self) -> None:
        while self.take():
            pass


def large(number: int) -> RoutingModel:
    """A model that takes several pieces, of which one host has a path that says the number."""
    backends = tuple(build.backend(f"shop/cart-{each:04}:80", build.endpoints("abc")) for each in range(600))
    return RoutingModel(hosts=(build.host("shop.test", build.route(f"/{number}")),), backends=backends)


def test_before_the_first_publication_there_is_only_the_certificate_of_them_all() -> None:
    dispatch = Dispatch(FALLBACK)
    one, other = Receiver(dispatch), Receiver(dispatch)
    assert one.first_message == other.first_message == Fallback(FALLBACK)
    assert not one.take()
    assert NOTHING.model == RoutingModel()


def test_one_that_comes_late_gets_the_newest_as_a_whole() -> None:
    dispatch = Dispatch(FALLBACK)
    dispatch.newest = Publication(7, large(7))
    receiver = Receiver(dispatch)
    receiver.take_all()
    assert receiver.served == [dispatch.newest]
    assert len(receiver.frames) > 1


def test_one_that_is_up_to_date_gets_what_has_changed() -> None:
    dispatch = Dispatch(FALLBACK)
    dispatch.newest = Publication(1, large(1))
    receiver = Receiver(dispatch)
    receiver.take_all()
    before = len(receiver.frames)
    dispatch.newest = Publication(2, large(2))
    receiver.take_all()
    (frame,) = receiver.frames[before:]
    assert len(frame) < 1000
    assert receiver.served[-1] == dispatch.newest


def test_one_that_takes_its_time_skips_what_is_no_longer_the_newest() -> None:
    dispatch = Dispatch(FALLBACK)
    dispatch.newest = Publication(1, large(1))
    receiver = Receiver(dispatch)
    receiver.take()
    for generation in range(2, 50):
        dispatch.newest = Publication(generation, large(generation))
    receiver.take_all()
    assert [publication.generation for publication in receiver.served] == [1, 49]


def test_what_two_lack_is_encoded_once_and_then_forgotten() -> None:
    dispatch = Dispatch(FALLBACK)
    dispatch.newest = Publication(1, large(1))
    one, other = Receiver(dispatch), Receiver(dispatch)
    one.take()
    other.take()
    assert one.frames[0] is other.frames[0]
    shipment = dispatch.shipment(NOTHING)
    assert shipment is dispatch.shipment(NOTHING)
    del shipment
    one.take_all()
    other.take_all()
    gc.collect()
    assert not dispatch._under_way


@given(st.lists(models, min_size=1, max_size=4), st.lists(st.integers(0, 3), max_size=12))
@settings(max_examples=25, deadline=None)
def test_every_receiver_comes_to_the_newest_whenever_it_takes(contents: list[RoutingModel], turns: list[int]) -> None:
    dispatch = Dispatch(FALLBACK)
    receivers = [Receiver(dispatch) for _ in range(3)]
    waiting = list(enumerate(contents, start=1))
    for turn in turns:
        if turn < len(receivers):
            receivers[turn].take()
        elif waiting:
            dispatch.newest = Publication(*waiting.pop(0))
    dispatch.newest = Publication(len(contents), contents[-1])
    for receiver in receivers:
        receiver.take_all()
        assert receiver.served[-1] == dispatch.newest
        generations = [publication.generation for publication in receiver.served]
        assert generations == sorted(set(generations))

"""Whatever comes when, each worker comes to the newest publication, and what several lack is encoded once."""

from __future__ import annotations

import gc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.connections.tls import self_signed
from balancer.model.policies import RoutePolicy
from balancer.model.publication import Publication, RoutingModel
from balancer.runtime.steps import finished
from balancer.workers.deltas import Piece, PublicationAssembler
from balancer.workers.messages import TO_WORKER, Fallback, MessageReader, NotSayable, ToWorker, UnreadablePiece
from balancer.workers.shipping import NOTHING, Consignee, Dispatch
from tests import builders as build
from tests.properties import examples
from tests.unit.balancer.any_models import models

FALLBACK = self_signed()


class Receiver:
    """A worker that takes a frame whenever it is told to, and does with it what a worker does.

    `frames` are those after the first.
    """

    def __init__(self, dispatch: Dispatch, *, confirms: bool = True) -> None:
        self._confirms = confirms
        self.consignee = Consignee(dispatch)
        self.frames: list[bytes] = []
        self.served: list[Publication] = []
        self._reader: MessageReader[ToWorker | UnreadablePiece] = MessageReader(TO_WORKER)
        self._gathering = PublicationAssembler()
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
        making = self._gathering.add(piece)
        if making is not None:
            publication = finished(making)
            self.served.append(publication)
            if self._confirms:
                self.consignee.serves(publication.generation)
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
    assert len(frame) < sum(map(len, receiver.frames[:before])) / 100
    assert receiver.served[-1] == dispatch.newest


@pytest.mark.large
def test_one_that_takes_its_time_skips_what_is_no_longer_the_newest() -> None:
    dispatch = Dispatch(FALLBACK)
    dispatch.newest = Publication(1, large(1))
    receiver = Receiver(dispatch)
    receiver.take()
    for generation in range(2, 50):
        dispatch.newest = Publication(generation, large(generation))
    receiver.take_all()
    assert [publication.generation for publication in receiver.served] == [1, 49]


def test_one_that_is_behind_gets_only_the_newest_of_each_backend() -> None:
    dispatch = Dispatch(FALLBACK)
    dispatch.newest = Publication(1, large(1))
    receiver = Receiver(dispatch, confirms=False)
    receiver.take_all()
    receiver.consignee.serves(1)
    dispatch.newest = Publication(2, large(2))
    receiver.take_all()
    before = len(receiver.frames)
    for generation in range(3, 10):
        dispatch.newest = Publication(generation, large(generation))
        assert not receiver.take()
    receiver.consignee.serves(2)
    receiver.take_all()
    (frame,) = receiver.frames[before:]
    assert len(frame) < sum(map(len, receiver.frames[:before])) / 100
    assert [publication.generation for publication in receiver.served] == [1, 2, 9]
    assert receiver.served[-1] == dispatch.newest


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


@pytest.mark.large
@given(st.lists(models, min_size=1, max_size=4), st.lists(st.integers(0, 3), max_size=12))
@examples(25)
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


def poisoned(number: int) -> RoutingModel:
    """A large model of which one route cannot be encoded."""
    bad = build.host("evil.test", msgspec.structs.replace(build.route(), policy=RoutePolicy(max_body_bytes=2**64)))
    return msgspec.structs.replace(large(number), hosts=(bad, *large(number).hosts))


def test_what_cannot_be_encoded_is_given_up_once_and_the_last_that_is_served_stays_for_new_ones_too() -> None:
    dispatch = Dispatch(FALLBACK)
    good = dispatch.newest = Publication(1, large(1))
    one = Receiver(dispatch)
    one.take_all()
    dispatch.newest = Publication(2, poisoned(2))
    with pytest.raises(NotSayable, match=r"publication 2: OverflowError.*in host evil.test of Ingress shop/web"):
        one.take_all()
    assert dispatch.newest is good
    new = Receiver(dispatch)
    for receiver in (one, new):
        receiver.take_all()
        assert receiver.served == [good]
    dispatch.newest = Publication(3, large(3))
    for receiver in (one, new):
        receiver.take_all()
        assert receiver.served == [good, dispatch.newest]


def test_every_worker_that_shares_a_shipment_is_told_that_it_cannot_be_sent_and_none_gets_less_of_it() -> None:
    dispatch = Dispatch(FALLBACK)
    dispatch.newest = Publication(1, poisoned(1))
    one, other = Receiver(dispatch), Receiver(dispatch)
    with pytest.raises(NotSayable):
        one.take_all()
    other.take_all()
    assert one.served == other.served == []
    assert dispatch.newest is NOTHING


def test_one_that_refuses_is_not_sent_the_same_again_and_gets_the_next_on_top_of_what_it_serves() -> None:
    dispatch = Dispatch(FALLBACK)
    dispatch.newest = Publication(1, large(1))
    one, other = Receiver(dispatch), Receiver(dispatch)
    one.take_all()
    other.take_all()
    dispatch.newest = Publication(2, large(2))
    other.take_all()
    while (frame := one.consignee.next_frame()) is not None:
        assert frame
    assert one.consignee.refuses(2)
    assert not one.consignee.refuses(2), "it has been said"
    one.take_all()
    dispatch.newest = Publication(3, large(3))
    one.take_all()
    assert [publication.generation for publication in one.served] == [1, 3]

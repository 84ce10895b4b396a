"""Both HTTP/2 engines make the same of the same frames; `make fuzz` tries hundreds of times as many."""

from __future__ import annotations

from random import Random

import pytest

from balancer.errors import ErrorKind
from tests.features.fuzz.engines import Verdict, compare, run
from tests.features.fuzz.framing import FrameMaker

_SEQUENCES = 1200


def test_no_sequence_of_frames_means_two_things() -> None:
    tally = run(inputs=_SEQUENCES, seed=11)
    assert tally.alike > _SEQUENCES / 3, "sequences of which nothing is served show nothing"
    assert tally.explained


def test_a_request_that_one_engine_alone_serves_is_seen() -> None:
    one, other = Verdict(), Verdict()
    one.heads[1], one.bodies[1] = (b"GET",), b""
    with pytest.raises(AssertionError):
        compare(one, other)
    other.heads[1], other.bodies[1] = (b"POST",), b""
    with pytest.raises(AssertionError):
        compare(one, other)
    other.heads[1] = ErrorKind.BAD_REQUEST
    with pytest.raises(AssertionError):
        compare(one, other)


def test_bodies_that_differ_are_seen() -> None:
    one, other = Verdict(), Verdict()
    for verdict, body in ((one, b"a"), (other, b"b")):
        verdict.heads[1], verdict.bodies[1], verdict.ends[1] = (b"GET",), body, ()
    with pytest.raises(AssertionError):
        compare(one, other)


def test_the_same_seed_makes_the_same_frames() -> None:
    one, other = FrameMaker(Random(7)), FrameMaker(Random(7))
    assert [one.sequence() for _ in range(20)] == [other.sequence() for _ in range(20)]

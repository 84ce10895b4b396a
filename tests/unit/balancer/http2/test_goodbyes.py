"""A client hears of the end in two steps, each of them once."""

from __future__ import annotations

import pytest

from balancer.http2 import goodbyes
from balancer.http2.events import GOAWAY, NO_ERROR, PING_ACK
from balancer.http2.lifetime import LEAVING, NOTICED, SERVING, Lifetime
from balancer.runtime.deadlines import NEVER
from tests.unit.balancer.http2.pairs import GET, LIBRARIES, Pair


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_notice_comes_before_the_goaway_and_its_ping_says_that_it_was_heard(library: str) -> None:
    pair, lifetime = Pair(server=library), Lifetime(0, 1.0)
    assert pair.client.request(GET, True)  # a connection without a stream is over with the notice
    pair.pump()
    assert goodbyes.give_notice(pair.server, lifetime, 10.0)
    assert not goodbyes.give_notice(pair.server, lifetime, 10.0)
    assert lifetime.state == NOTICED
    assert not goodbyes.is_notice_over(lifetime, 10.9)
    assert goodbyes.is_notice_over(lifetime, 11.0)
    heard, served = pair.pump()
    assert [event[2] for event in heard if event[0] == GOAWAY] == [NO_ERROR]
    (answer,) = (event for event in served if event[0] == PING_ACK)
    assert goodbyes.is_notice_heard(lifetime, answer[2])
    assert not goodbyes.is_notice_heard(lifetime, b"another!")
    assert goodbyes.take_leave(pair.server, lifetime)
    assert not goodbyes.take_leave(pair.server, lifetime)
    assert (lifetime.state, lifetime.until) == (LEAVING, NEVER)
    assert not goodbyes.is_notice_heard(lifetime, answer[2])


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_forbidden_cipher_is_a_goaway_that_says_so(library: str) -> None:
    pair, lifetime = Pair(server=library), Lifetime(0, 1.0)
    assert lifetime.state == SERVING
    goodbyes.refuse_cipher(pair.server, lifetime)
    heard, _ = pair.pump()
    assert [event[2] for event in heard if event[0] == GOAWAY] == [12]
    assert lifetime.state == LEAVING

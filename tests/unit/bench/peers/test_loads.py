"""What the load generators know without sending anything."""

from __future__ import annotations

from random import Random

import pytest

from tests.bench.peers.loads.answers import NoAnswer, is_success, whole_bytes
from tests.bench.peers.loads.arrivals import arrivals, percentile
from tests.bench.peers.loads.frames import ANSWER_FRAME, MESSAGE_BYTES, REQUEST_FRAME, acceptance, handshake

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nServer: a\r\n\r\nabc"


def test_an_answer_ends_where_its_length_says() -> None:
    assert whole_bytes(ANSWER) == len(ANSWER)
    assert whole_bytes(ANSWER + b"HTTP/1.1") == len(ANSWER)
    assert whole_bytes(ANSWER.replace(b"Content-Length", b"content-length")) == len(ANSWER)


def test_an_answer_whose_head_is_not_whole_has_no_end_yet() -> None:
    assert all(whole_bytes(ANSWER[:cut]) is None for cut in range(len(ANSWER) - 4))


def test_an_answer_without_a_length_is_refused() -> None:
    with pytest.raises(NoAnswer):
        whole_bytes(ANSWER.replace(b"Content-Length: 3\r\n", b""))


def test_only_2xx_is_a_success() -> None:
    assert is_success(ANSWER)
    assert not is_success(ANSWER.replace(b"200", b"503"))


def test_arrivals_are_as_many_as_asked_for_and_in_order() -> None:
    times = list(arrivals(Random(1), per_second=1000, seconds=10))
    assert times == sorted(times)
    assert times[-1] < 10
    assert len(times) == pytest.approx(10_000, rel=0.05)


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(number) for number in range(1, 101)]
    assert percentile(values, 0.5) == 51.0
    assert percentile(values, 0.99) == 100.0
    assert percentile([7.0], 0.99) == 7.0


def test_the_key_of_the_standard_is_accepted_as_the_standard_says() -> None:
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in acceptance(handshake("a.example", "/"))


@pytest.mark.parametrize(("frame", "is_masked"), [(REQUEST_FRAME, True), (ANSWER_FRAME, False)])
def test_a_frame_is_one_whole_message_that_its_receiver_must_take(frame: bytes, is_masked: bool) -> None:
    assert frame[0] == 0x80 | 0x02  # the last frame of a message; binary (RFC 6455 section 5.2)
    assert frame[1] == (0x80 if is_masked else 0) | 126
    assert int.from_bytes(frame[2:4], "big") == MESSAGE_BYTES
    assert frame[4:] == bytes(4 if is_masked else 0) + b"x" * MESSAGE_BYTES

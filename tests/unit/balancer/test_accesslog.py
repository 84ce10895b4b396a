"""The access log delivers every line to a reader that keeps up, and never waits for one that does not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from balancer.accesslines import AccessLogFormat, AccessRecord
from balancer.accesslog import PENDING_BYTES_MAX, AccessLog

# As long as a slow machine may need; nothing waits this long when all is well.
PATIENCE_SECONDS = 10.0


class Pipe:
    """The descriptors of a pipe, closed at the end whatever the test did."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()

    def stop_reading(self) -> None:
        os.close(self.read_fd)
        self.read_fd = -1

    def stop_writing(self) -> None:
        os.close(self.write_fd)
        self.write_fd = -1

    def everything(self) -> list[bytes]:
        self.stop_writing()
        with os.fdopen(os.dup(self.read_fd), "rb") as reader:
            return reader.read().splitlines()

    def close(self) -> None:
        for descriptor in (self.read_fd, self.write_fd):
            if descriptor >= 0:
                os.close(descriptor)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


class Drops:
    """Counts what it is told was dropped."""

    def __init__(self) -> None:
        self.lines = 0

    def __call__(self, lines: int) -> None:
        self.lines += lines


def record(request_id: str = "", path: str = "/") -> AccessRecord:
    return AccessRecord(
        time=0.0,
        client="10.1.2.3",
        method="GET",
        host="shop.example.com",
        path=path,
        protocol="HTTP/1.1",
        status=200,
        bytes_in=0,
        bytes_out=1,
        duration=0.1,
        endpoint_duration=None,
        namespace="",
        ingress="",
        service="",
        endpoints=(),
        from_zone="zone-a",
        to_zone="unknown",
        locality="unknown",
        reason="",
        request_id=request_id,
    )


def test_every_line_arrives_in_order(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    # Fewer than a pipe holds: the reader of this test reads only afterwards.
    for number in range(100):
        log.write(record(str(number)))
    log.close(PATIENCE_SECONDS)
    assert [json.loads(line)["request_id"] for line in pipe.everything()] == [str(number) for number in range(100)]
    assert drops.lines == 0


def test_lines_arrive_while_the_log_is_open(pipe: Pipe) -> None:
    log = AccessLog(pipe.write_fd, AccessLogFormat.UPSTREAMINFO, Drops())
    with os.fdopen(os.dup(pipe.read_fd), "rb") as reader:
        for number in range(3):
            log.write(record(f"id-{number}"))
            assert reader.readline().endswith(f" id-{number}\n".encode())
    log.close(PATIENCE_SECONDS)


def test_a_stalled_reader_costs_lines_but_bounded_memory(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    one = record(path="x" * 2000)
    # Twice what is kept, and far more than a pipe holds.
    written = 2 * PENDING_BYTES_MAX // 2000
    for _ in range(written):
        log.write(one)
    kept = written - drops.lines
    assert PENDING_BYTES_MAX / 2500 < kept < (PENDING_BYTES_MAX + 256 * 1024) / 2000
    log.close(0.01)
    pipe.stop_reading()
    log.close(PATIENCE_SECONDS)  # its thread must be gone before the descriptor's number is used again
    # What was accepted but never written counts as dropped once the log is closed.
    assert written - 256 * 1024 / 2000 < drops.lines < written


def test_a_reader_that_comes_back_gets_what_was_kept(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    with os.fdopen(os.dup(pipe.read_fd), "rb") as reader:
        while drops.lines == 0:
            log.write(record(path="x" * 2000))
        for _ in range(500):
            assert json.loads(reader.readline())["path"] == "x" * 2000
    log.close(0.01)
    pipe.stop_reading()
    log.close(PATIENCE_SECONDS)  # its thread must be gone before the descriptor's number is used again


def test_a_full_non_blocking_descriptor_is_waited_for(pipe: Pipe) -> None:
    os.set_blocking(pipe.write_fd, False)
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    for number in range(1000):
        log.write(record(str(number)))
    with os.fdopen(os.dup(pipe.read_fd), "rb") as reader:
        received = [json.loads(reader.readline())["request_id"] for _ in range(1000)]
    log.close(PATIENCE_SECONDS)
    assert received == [str(number) for number in range(1000)]
    assert drops.lines == 0


def test_a_reader_that_is_gone_costs_lines_only(pipe: Pipe) -> None:
    pipe.stop_reading()
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    for _ in range(5):
        log.write(record())
    log.close(PATIENCE_SECONDS)
    assert drops.lines == 5


def test_a_closed_log_drops_and_may_be_closed_again(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    log.close(PATIENCE_SECONDS)
    log.write(record())
    log.close(PATIENCE_SECONDS)
    assert drops.lines == 1
    assert pipe.everything() == []


def test_off_writes_and_counts_nothing(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.OFF, drops)
    log.write(record())
    log.close(PATIENCE_SECONDS)
    assert pipe.everything() == []
    assert drops.lines == 0

"""Whole lines of all pipes come out of one descriptor, and only its reader decides how fast."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.workers.logpipes import LogPipes
from tests.properties import examples

pytestmark = pytest.mark.large

PATIENCE_SECONDS = 30.0


class Output:
    """Stands for standard output: a pipe, of which the test is the reader."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        self.received = bytearray()

    def has(self, expected: bytes) -> None:
        """Read until so much has come, which must be this."""
        while len(self.received) < len(expected):
            self.received += os.read(self.read_fd, 64 * 1024)
        assert self.received == expected

    def rest(self) -> bytes:
        """All that has not been read; nobody writes afterwards."""
        os.close(self.write_fd)
        self.write_fd = -1
        while data := os.read(self.read_fd, 64 * 1024):
            self.received += data
        return bytes(self.received)

    def stop_reading(self) -> None:
        os.close(self.read_fd)
        self.read_fd = -1

    def close(self) -> None:
        for descriptor in (self.read_fd, self.write_fd):
            if descriptor >= 0:
                os.close(descriptor)


@contextmanager
def piped() -> Iterator[tuple[LogPipes, Output]]:
    output = Output()
    pipes = LogPipes(output.write_fd)
    try:
        yield pipes, output
    finally:
        pipes.close(PATIENCE_SECONDS)
        output.close()


@pytest.fixture
def output() -> Iterator[Output]:
    output = Output()
    yield output
    output.close()


@pytest.fixture
def pipes(output: Output) -> Iterator[LogPipes]:
    pipes = LogPipes(output.write_fd)
    pipes.start()
    yield pipes
    if output.read_fd >= 0:
        output.stop_reading()  # nothing may keep the thread from its end
    pipes.close(PATIENCE_SECONDS)


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def is_refused(write_fd: int) -> bool:
    """Whether nobody reads this pipe any more."""
    try:
        os.write(write_fd, b"one more\n")
    except OSError as error:
        return error.errno == errno.EPIPE
    return False


def test_lines_of_every_pipe_come_out(pipes: LogPipes, output: Output) -> None:
    first = pipes.new_pipe()
    os.write(first, b"one\ntwo\n")
    output.has(b"one\ntwo\n")
    second = pipes.new_pipe()
    os.write(second, b"three\n")
    output.has(b"one\ntwo\nthree\n")
    os.write(first, b"four\n")
    output.has(b"one\ntwo\nthree\nfour\n")
    os.close(first)
    os.close(second)


def test_what_is_written_before_the_start_waits(output: Output) -> None:
    pipes = LogPipes(output.write_fd)
    write_fd = pipes.new_pipe()
    os.write(write_fd, b"a line\n")
    os.write(output.write_fd, b"first of all\n")
    pipes.start()
    output.has(b"first of all\na line\n")
    os.close(write_fd)
    pipes.close(PATIENCE_SECONDS)


def test_a_line_in_pieces_comes_out_whole(pipes: LogPipes, output: Output) -> None:
    torn, other = pipes.new_pipe(), pipes.new_pipe()
    os.write(torn, b"one\nbegun ")
    output.has(b"one\n")
    os.write(other, b"other\n")
    output.has(b"one\nother\n")
    os.write(torn, b"and done\n")
    output.has(b"one\nother\nbegun and done\n")
    os.close(torn)
    os.close(other)


def test_the_torn_last_line_of_a_writer_that_is_gone_is_dropped(pipes: LogPipes, output: Output) -> None:
    killed, other = pipes.new_pipe(), pipes.new_pipe()
    os.write(killed, b"whole\ntor")
    os.close(killed)
    output.has(b"whole\n")
    os.write(other, b"other\n")
    output.has(b"whole\nother\n")
    os.close(other)


# Fills its pipe by writes of many lines each, of which the last goes in only in part.
_FLOODING = """
import os, sys
descriptor, lines = int(sys.argv[1]), b"".join(b"%0776d\\n" % number for number in range(100))
os.set_blocking(descriptor, False)
while True:
    try:
        os.write(descriptor, lines)
    except BlockingIOError:
        print("full", flush=True)
        sys.stdin.read()
"""


def test_of_a_process_killed_amid_a_line_only_whole_lines_come_out(output: Output) -> None:
    pipes = LogPipes(output.write_fd)
    write_fd = pipes.new_pipe()
    command = (sys.executable, "-S", "-c", _FLOODING, str(write_fd))
    with subprocess.Popen(command, pass_fds=[write_fd], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        os.close(write_fd)
        assert process.stdout is not None
        assert process.stdout.readline() == b"full\n"
        process.kill()
    reading = threading.Thread(target=pipes.close, args=[PATIENCE_SECONDS])
    reading.start()
    while reading.is_alive() or select.select([output.read_fd], [], [], 0)[0]:
        if select.select([output.read_fd], [], [], 0.01)[0]:
            output.received += os.read(output.read_fd, 64 * 1024)
    lines = output.received.splitlines(keepends=True)
    assert len(lines) >= 64 * 1024 // 777
    assert [int(line) for line in lines] == [number % 100 for number in range(len(lines))]
    assert {len(line) for line in lines} == {777}


def test_a_pipe_whose_writers_are_gone_is_given_back(pipes: LogPipes) -> None:
    before = os.listdir("/dev/fd")
    write_fd = pipes.new_pipe()
    assert len(os.listdir("/dev/fd")) == len(before) + 2
    os.close(write_fd)
    until(lambda: len(os.listdir("/dev/fd")) == len(before))


@pytest.mark.skipif(not hasattr(fcntl, "F_GETPIPE_SZ"), reason="only Linux says how much a pipe holds")
def test_a_pipe_holds_many_batches(pipes: LogPipes) -> None:
    write_fd = pipes.new_pipe()
    try:
        assert fcntl.fcntl(write_fd, fcntl.F_GETPIPE_SZ) >= 64 * 1024
        assert not os.get_inheritable(write_fd)
    finally:
        os.close(write_fd)


def test_a_stalled_reader_fills_the_pipes_and_loses_nothing(output: Output) -> None:
    pipes = LogPipes(output.write_fd)
    pipes.start()
    write_fd = pipes.new_pipe()
    line, lines = b"x" * 999 + b"\n", 0
    while select.select([], [write_fd], [], 0.1)[1]:
        lines += os.write(write_fd, line) == len(line)
    os.close(write_fd)
    reading = threading.Thread(target=lambda: output.has(line * lines))
    reading.start()
    pipes.close(PATIENCE_SECONDS)
    reading.join()
    assert lines > 100


def test_closing_gives_up_on_a_stalled_reader(output: Output) -> None:
    pipes = LogPipes(output.write_fd)
    pipes.start()
    write_fd = pipes.new_pipe()
    while select.select([], [write_fd], [], 0.02)[1]:
        os.write(write_fd, b"x" * 999 + b"\n")
    os.close(write_fd)
    started = time.monotonic()
    pipes.close(0.05)
    assert time.monotonic() - started < PATIENCE_SECONDS / 2
    output.stop_reading()
    pipes.close(PATIENCE_SECONDS)  # its thread must be gone before the descriptor's number is used again


def test_closing_writes_what_is_in_the_pipes_even_of_a_writer_that_lives(output: Output) -> None:
    pipes = LogPipes(output.write_fd)
    write_fd = pipes.new_pipe()
    os.write(write_fd, b"one\ntwo\ntor")
    pipes.close(PATIENCE_SECONDS)
    assert output.rest() == b"one\ntwo\n"
    assert is_refused(write_fd)
    os.close(write_fd)


def test_closing_again_does_nothing(output: Output) -> None:
    pipes = LogPipes(output.write_fd)
    pipes.start()
    pipes.close(PATIENCE_SECONDS)
    pipes.close(PATIENCE_SECONDS)
    assert output.rest() == b""


def test_without_a_reader_writers_are_refused_so_that_they_count(pipes: LogPipes, output: Output) -> None:
    present = pipes.new_pipe()
    output.stop_reading()
    until(lambda: is_refused(present))
    later = pipes.new_pipe()
    until(lambda: is_refused(later))
    os.close(present)
    os.close(later)


# A file that may have at most so many bytes fails like a full disk; the limit is the process's, so it is another one.
_FULL = """\
import os, resource, signal, sys
from balancer.workers import logpipes
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
logpipes._FAILED_SECONDS = 0.01
def bound(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
output = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
pipes = logpipes.LogPipes(output)
pipes.start()
write_fd = pipes.new_pipe()
bound(5)
os.write(write_fd, b"one\\ntwo\\n")
sys.stdin.readline()
if sys.argv[2] == "mended":
    bound(resource.RLIM_INFINITY)
    os.write(write_fd, b"three\\n")
    sys.stdin.readline()
pipes.close(10)
assert not pipes._thread.is_alive()
"""


@pytest.mark.parametrize(("then", "out"), [("mended", b"one\ntwo\nthree\n"), ("closed", b"one\nt")])
def test_a_full_disk_is_waited_for_until_the_end(tmp_path: Path, then: str, out: bytes) -> None:
    output = tmp_path / "out"
    command = (sys.executable, "-c", _FULL, str(output), then)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        assert b"standard output fails: File too large" in process.stderr.readline()
        assert output.read_bytes() == b"one\nt"
        if then == "mended":
            process.stdin.write(b"\n")
            process.stdin.flush()
            until(lambda: output.read_bytes() == out)
        process.stdin.close()
    assert process.returncode == 0
    assert output.read_bytes() == out


def test_standard_output_made_non_blocking_by_others_is_waited_for(pipes: LogPipes, output: Output) -> None:
    os.set_blocking(output.write_fd, False)
    write_fd = pipes.new_pipe()
    expected = b"".join(b"%0999d\n" % number for number in range(300))  # more than the output holds
    writing = threading.Thread(target=lambda: os.write(write_fd, expected))
    writing.start()
    output.has(expected)
    writing.join()
    os.close(write_fd)


@examples(30)
@given(st.lists(st.tuples(st.integers(0, 2), st.binary(min_size=1, max_size=40)), max_size=30))
def test_every_writers_whole_lines_come_out_in_its_order(pieces: list[tuple[int, bytes]]) -> None:
    """Which writer writes what next, where each byte becomes the writer's letter or the end of a line."""
    sent = [b"", b"", b""]
    with piped() as (pipes, output):
        pipes.start()
        writers = [pipes.new_pipe() for _ in sent]
        for writer, shape in pieces:
            letter = b"abc"[writer : writer + 1]
            piece = b"".join(letter + b"\n" if byte < 64 else letter for byte in shape)
            os.write(writers[writer], piece)
            sent[writer] += piece
        for write_fd in writers:
            os.close(write_fd)
        pipes.close(PATIENCE_SECONDS)
        lines = output.rest().splitlines(keepends=True)
    for name, text in zip("abc", sent, strict=True):
        whole = [line for line in text.decode().splitlines(keepends=True) if line.endswith("\n")]
        assert [line.decode() for line in lines if name.encode() in line] == whole

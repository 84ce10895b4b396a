"""The own log: one record a line on standard error, as text or as JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import subprocess
import sys
from collections.abc import Iterator

import pytest
from aiohttp.http_exceptions import BadHttpMessage, TransferEncodingError
from aiohttp.web_protocol import RequestPayloadError

from balancer.connections.tls import ServerNames, self_signed
from balancer.logs.stderr import configure_logs

pytestmark = pytest.mark.large


@pytest.fixture(autouse=True)
def own_root_logger(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Configuring replaces the handlers of the root logger, pytest's among them, and what hears of lost exceptions."""
    level = logging.root.level
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    yield
    logging.root.setLevel(level)


def test_text_says_when_how_bad_where_and_what(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format="text")
    logging.getLogger("some.place").warning("it is %s", "so")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(" WARNING some.place: it is so\n")
    assert captured.err.count("\n") == 1


def test_no_name_in_a_message_ends_the_line_or_steers_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format="text")
    try:
        raise ValueError("\x9bfirst\u202e")
    except ValueError:
        logging.getLogger("some.place").exception("about %s", "a\r\n\x1b[31mb")
    told, *trace = capsys.readouterr().err.splitlines()
    assert told.endswith(" ERROR some.place: about a\\r\\n\\x1b[31mb")
    assert trace[-1] == "ValueError: \\x9bfirst\\u202e"


def test_json_is_one_object_a_line_even_for_an_exception(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format="json")
    try:
        raise ValueError("odd\nvalue")
    except ValueError:
        logging.getLogger("some.place").exception("it failed")
    (line,) = capsys.readouterr().err.splitlines()
    record = json.loads(line)
    assert (record["level"], record["logger"], record["message"]) == ("error", "some.place", "it failed")
    assert record["time"].endswith("+00:00")
    assert "ValueError: odd" in record["exception"]


def test_a_worker_says_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    for log_format in ("text", "json"):
        configure_logs(level="info", log_format=log_format, worker=3)
        logging.getLogger("some.place").warning("it is so")
    text, record = capsys.readouterr().err.splitlines()
    assert text.endswith(" WARNING worker 3 some.place: it is so")
    assert json.loads(record)["worker"] == 3


@pytest.mark.parametrize(("level", "lines"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_the_level_decides_what_is_said(capsys: pytest.CaptureFixture[str], level: str, lines: int) -> None:
    configure_logs(level=level, log_format="text")
    logger = logging.getLogger("some.place")
    logger.debug("a")
    logger.info("b")
    logger.warning("c")
    logger.error("d")
    assert capsys.readouterr().err.count("\n") == lines


@pytest.mark.parametrize(("level", "lines"), [("debug", 1), ("info", 0)])
def test_malformed_requests_are_for_people_who_look_closely(
    capsys: pytest.CaptureFixture[str], level: str, lines: int
) -> None:
    configure_logs(level=level, log_format="json")
    logging.getLogger("aiohttp.server").error("Error handling request", exc_info=BadHttpMessage("Host : a"))
    assert capsys.readouterr().err.count("\n") == lines


def test_a_malformed_body_is_not_told_either(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format="text")
    error = RequestPayloadError("the body cannot be read")
    error.__cause__ = TransferEncodingError("no size of a chunk")
    logging.getLogger("aiohttp.server").error("Unhandled exception", exc_info=error)
    assert capsys.readouterr().err == ""


def test_other_errors_while_aiohttp_serves_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format="json")
    logging.getLogger("aiohttp.server").error("Error handling request", exc_info=ValueError("a fault of ours"))
    assert "a fault of ours" in capsys.readouterr().err


_STALLED = """\
import logging, os, sys
from balancer.logs.stderr import configure_logs
read_fd, write_fd = os.pipe()
os.set_blocking(read_fd, False)
os.dup2(write_fd, 2)
def read():
    try:
        sys.stdout.buffer.write(os.read(read_fd, 1 << 20))
    except BlockingIOError:
        pass
configure_logs(level="info", log_format=sys.argv[1])
log = logging.getLogger("some.place")
for number in range(300):
    log.warning("line %d %s", number, "x" * int(sys.argv[2]))
read()
log.warning("at last")
log.warning("and so on")
read()
"""


@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize("length", [1000, 10_000])
def test_a_reader_that_stalls_holds_nobody_up_and_is_told_what_it_missed(log_format: str, length: int) -> None:
    command = (sys.executable, "-c", _STALLED, log_format, str(length))
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=20)
    lines = ended.stdout.splitlines()
    whole = [line for line in lines if "line" in line and "x" * length in line]
    assert 3 <= len(whole) < 300
    assert f"lost {300 - len(whole)} records here" in lines[-3]
    assert "at last" in lines[-2]
    assert "and so on" in lines[-1]
    assert len(lines) - len(whole) in (3, 4), "one may be torn"
    if log_format == "json":
        assert all(json.loads(line)["level"] == "warning" for line in (*whole, *lines[-3:]))


_DESERTED = """\
import logging, os
from balancer.logs.stderr import configure_logs
read_fd, write_fd = os.pipe()
os.dup2(write_fd, 2)
os.close(read_fd)
configure_logs(level="info", log_format="text")
logging.warning("to nobody")
print("lives")
"""


def test_a_reader_that_is_gone_ends_nobody() -> None:
    ended = subprocess.run((sys.executable, "-c", _DESERTED), capture_output=True, check=True, timeout=20)
    assert ended.stdout == b"lives\n"


def client_hello(server_name: bytes) -> bytes:
    """The first bytes of a handshake that names `server_name`, as it is."""
    context = ssl.create_default_context()
    stand_in = "x" * len(server_name)  # the ssl module itself would not say a name that is not ASCII
    unread, hello = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(unread, hello, server_hostname=stand_in).do_handshake()
    said = hello.read()
    assert said.count(stand_in.encode()) == 1
    return said.replace(stand_in.encode(), server_name)


async def shake_hands(server_name: bytes, *, times: int) -> None:
    """Begin handshakes with a listener of ours; each ends with the connection."""
    names = ServerNames(self_signed())
    accepting = await asyncio.start_server(lambda _, __: None, "127.0.0.1", 0, ssl=names.listener_context)
    async with accepting:
        for _ in range(times):
            reader, writer = await asyncio.open_connection(*accepting.sockets[0].getsockname())
            writer.write(client_hello(server_name))
            await reader.read()
            writer.close()
            await writer.wait_closed()


async def test_server_names_that_are_not_ascii_are_one_line_for_people_who_look_closely(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs(level="debug", log_format="text")
    await shake_hands("kürbis.example".encode(), times=3)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if " DEBUG asyncio: " not in line]
    assert " DEBUG balancer.logs.stderr: refused TLS handshakes whose server name is not ASCII: 1 " in line


async def test_server_names_that_are_not_ascii_are_nothing_to_all_others(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format="text")
    await shake_hands(b"\xff\n.example", times=2)
    assert capsys.readouterr().err == ""


class Faulty:
    """Something whose end fails where nothing can be raised."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __del__(self) -> None:
        raise self._error


@pytest.mark.parametrize("error", [ValueError("lost"), UnicodeDecodeError("ascii", b"\xff", 0, 1, "lost")])
def test_any_other_exception_that_cannot_be_raised_is_told_as_ever(
    capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    configure_logs(level="info", log_format="text")
    configure_logs(level="info", log_format="text")
    thing = Faulty(error)
    del thing
    told = capsys.readouterr().err
    assert told.startswith("Exception ignored ")
    assert told.count("lost") == 1

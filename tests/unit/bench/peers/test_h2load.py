"""How h2load is called, and what its output says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.peers.h2load import Http2Call, NotHttp2, command, read

WELL = """starting benchmark...
TLS Protocol: TLSv1.3
Application protocol: h2

finished in 2.01s, 9000.00 req/s, 1.2MB/s
requests: 18120 total, 18120 started, 18100 done, 18090 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 18000 2xx, 0 3xx, 0 4xx, 90 5xx
traffic: 2.4MB (2498700) total
"""


def test_requests_and_seconds_are_read() -> None:
    load = read(WELL)
    assert (load.requests, load.seconds, load.failed) == (18_000, 2.01, 100)


@pytest.mark.parametrize(
    "output", ["", WELL.replace("protocol: h2", "protocol: http/1.1"), WELL.replace("requests: ", "")]
)
def test_what_is_no_report_of_http2_is_not_taken_for_one(output: str) -> None:
    with pytest.raises(NotHttp2):
        read(output)


def test_a_call_names_everything_it_was_given() -> None:
    call = Http2Call(url="https://localhost:1/", seconds=2, connections=1, streams=32, threads=3, fields=("A: b",))
    said = ["h2load", "-t1", "-c1", "-m32", "-D2", "--npn-list=h2", "-H", "A: b", "https://localhost:1/"]
    assert command("h2load", call) == said


def test_a_body_is_sent_from_its_file() -> None:
    call = Http2Call(url="https://localhost:1/", seconds=2, connections=1, streams=32, body=Path("/message"))
    assert command("h2load", call)[-3:] == ["-d", "/message", "https://localhost:1/"]

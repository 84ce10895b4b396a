"""How wrk is called, and what its output says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.peers.wrk import Call, Unreadable, command, hosts_script, numbered_script, read, upload_script

WELL = """Running 2s test @ http://127.0.0.1:29000/
  1 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     6.39ms   14.63ms 117.46ms   95.49%
    Req/Sec   678.90    366.07     1.63k    80.00%
  1381 requests in 2.06s, 194.20KB read
Requests/sec:    670.87
Transfer/sec:     94.34KB
"""
BADLY = WELL.replace(
    "Requests/sec",
    "  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 81\nRequests/sec",
)


def test_requests_and_seconds_are_read() -> None:
    load = read(WELL)
    assert (load.requests, load.seconds, load.failed) == (1381, 2.06, 0)


def test_answers_that_are_no_success_and_errors_of_sockets_have_failed() -> None:
    load = read(BADLY)
    assert (load.requests, load.failed) == (1300, 91)


@pytest.mark.parametrize(("text", "seconds"), [("500.00ms", 0.5), ("1.50m", 90.0), ("2.00s", 2.0)])
def test_a_time_is_in_any_unit_of_wrk(text: str, seconds: float) -> None:
    assert read(WELL.replace("2.06s", text)).seconds == pytest.approx(seconds)


@pytest.mark.parametrize("output", ["", "unable to connect to 127.0.0.1:29000 Connection refused\n"])
def test_what_is_no_report_is_not_taken_for_one(output: str) -> None:
    with pytest.raises(Unreadable):
        read(output)


def test_a_call_names_everything_it_was_given() -> None:
    call = Call(
        url="http://127.0.0.1:1/", seconds=2, connections=32, threads=3, fields=("Host: a",), script=Path("/x.lua")
    )
    assert command("wrk", call) == [
        *("wrk", "-t3", "-c32", "-d2s", "-s", "/x.lua", "-H", "Host: a", "--timeout", "10s", "http://127.0.0.1:1/")
    ]


def test_there_are_no_more_threads_than_connections() -> None:
    assert "-t2" in command("wrk", Call(url="http://a/", seconds=1, connections=2, threads=8))


def test_scripts_hold_what_is_sent() -> None:
    assert 'wrk.body = string.rep("x", 1048576)' in upload_script(1 << 20)
    assert '{"a.example", "b.example"}' in hosts_script(["a.example", "b.example"], "/path")
    assert '"/path"' in hosts_script(["a.example"], "/path")
    assert r'head .. number .. "\r\n\r\n"' in numbered_script()

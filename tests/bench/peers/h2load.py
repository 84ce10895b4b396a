"""h2load: how it is called for a case over HTTP/2, and what its output says. Nothing here runs it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.bench.peers.samples import Load

_FINISHED = re.compile(r"^finished in ([\d.]+)(us|ms|s|m|h),", re.MULTILINE)
_REQUESTS = re.compile(r"^requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded,", re.MULTILINE)
_STATUSES = re.compile(r"^status codes: (\d+) 2xx,", re.MULTILINE)
_PROTOCOL = re.compile(r"^Application protocol: (\S+)", re.MULTILINE)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class NotHttp2(ValueError):
    """The output is not what h2load says at the end of a run over HTTP/2."""


class Http2Call(msgspec.Struct, frozen=True, kw_only=True):
    """One run: so many requests at once on each connection. A file as `body` makes each a POST of what is in it."""

    url: str
    seconds: int
    connections: int
    streams: int
    threads: int = 1
    fields: Sequence[str] = ()
    body: Path | None = None


def command(program: str, call: Http2Call) -> list[str]:
    """The arguments, the program first. A generator has no more threads than connections."""
    arguments = [program, f"-t{min(call.threads, call.connections)}", f"-c{call.connections}", f"-m{call.streams}"]
    arguments += [f"-D{call.seconds}", "--npn-list=h2"]
    for field in call.fields:
        arguments += ["-H", field]
    if call.body is not None:
        arguments += ["-d", str(call.body)]
    return [*arguments, call.url]


def read(output: str) -> Load:
    """What h2load says it has done. Answers that are no success count as failed.

    Requests that are under way when the time is over are neither. Raises `NotHttp2`.
    """
    finished, requests, statuses = _FINISHED.search(output), _REQUESTS.search(output), _STATUSES.search(output)
    protocol = _PROTOCOL.search(output)
    if finished is None or requests is None or statuses is None or protocol is None or protocol[1] != "h2":
        raise NotHttp2(output.strip()[-500:] or "nothing")
    served = min(int(requests[2]), int(statuses[1]))
    seconds = float(finished[1]) * _SECONDS[finished[2]]
    return Load(requests=served, seconds=seconds, failed=int(requests[1]) - served)

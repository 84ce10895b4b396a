"""wrk: how it is called for a case, and what its output says. Nothing here runs it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.bench.peers.samples import Load

_TOTAL = re.compile(r"^\s*(\d+) requests in ([\d.]+)(us|ms|s|m|h),", re.MULTILINE)
_REFUSED = re.compile(r"Non-2xx or 3xx responses: (\d+)")
_SOCKET = re.compile(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class Unreadable(ValueError):
    """The output is not what wrk says at the end of a run."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One run. wrk counts whole seconds."""

    url: str
    seconds: int
    connections: int
    threads: int = 1
    fields: tuple[str, ...] = ()
    script: Path | None = None


def command(program: str, call: Call) -> list[str]:
    """The arguments, the program first. A generator has no more threads than connections."""
    arguments = [program, f"-t{min(call.threads, call.connections)}", f"-c{call.connections}", f"-d{call.seconds}s"]
    if call.script is not None:
        arguments += ["-s", str(call.script)]
    for field in call.fields:
        arguments += ["-H", field]
    return [*arguments, "--timeout", "10s", call.url]


def upload_script(body_bytes: int) -> str:
    """Every request is a POST with a body of so many bytes."""
    return f'wrk.method = "POST"\nwrk.body = string.rep("x", {body_bytes})\n'


def hosts_script(hosts: Sequence[str], path: str) -> str:
    """Requests name `hosts` in turn; they are formatted once, so that many cost the generator no more than few."""
    names = ", ".join(f'"{host}"' for host in hosts)
    return f"""local hosts = {{{names}}}
local requests, turn = {{}}, 0
function init(arguments)
    for place, host in ipairs(hosts) do
        requests[place] = wrk.format("GET", "{path}", {{["Host"] = host}})
    end
end
function request()
    turn = turn % #requests + 1
    return requests[turn]
end
"""


def numbered_script() -> str:
    """Every request has a field that no other one has, of no run and of no thread."""
    return """local threads = 0
function setup(thread)
    thread:set("beginning", "X-Number: " .. os.time() .. "-" .. threads .. "-")
    threads = threads + 1
end
local head, number
function init(arguments)
    head, number = wrk.format():sub(1, -3) .. beginning, 0
end
function request()
    number = number + 1
    return head .. number .. "\\r\\n\\r\\n"
end
"""


def read(output: str) -> Load:
    """What wrk says it has done. Answers that are no success count as failed, as do errors of sockets."""
    total = _TOTAL.search(output)
    if total is None:
        raise Unreadable(output.strip()[-500:] or "nothing")
    refused = int(match[1]) if (match := _REFUSED.search(output)) else 0
    broken = sum(map(int, match.groups())) if (match := _SOCKET.search(output)) else 0
    seconds = float(total[2]) * _SECONDS[total[3]]
    return Load(requests=int(total[1]) - refused, seconds=seconds, failed=refused + broken)

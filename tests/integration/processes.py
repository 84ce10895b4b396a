"""What proc(5) says of processes from outside: which are workers, what they hold, and whose a connection is.

Nothing here asks the processes themselves, so it is true of a stopped one and of one that lies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

WORKER = b"balancer.workers.process"
"""What the command line of a worker names."""

# A line of proc(5)'s net/tcp in state 01, established: the ports of both sides and the inode.
_CONNECTION = re.compile(r"^ *\d+: \w+:(\w{4}) \w+:(\w{4}) 01 \S+ \S+ \S+ +\d+ +\d+ (\d+)", re.MULTILINE)
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_GONE = (FileNotFoundError, ProcessLookupError)


class Usage(NamedTuple):
    """What a process holds at one moment. `private_bytes` is its share of all memory (PSS)."""

    private_bytes: int
    resident_bytes: int
    descriptors: int
    threads: int


def children(pid: int) -> list[int]:
    """The processes that any thread of a process started and nobody has reaped yet, zombies among them."""
    found: list[int] = []
    with suppress(*_GONE):
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(*_GONE):
                found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


def workers(pid: int) -> list[int]:
    """The worker processes of `zonal run`, the oldest first. One that has ended is none, reaped or not."""
    return sorted((each for each in children(pid) if WORKER in command_line(each)), key=_started)


def zombies(pid: int) -> list[int]:
    """Children that have ended and were not reaped."""
    return [each for each in children(pid) if state(each) == "Z"]


def command_line(pid: int) -> bytes:
    """The arguments of a process, each ended by a NUL; nothing if it has ended."""
    with suppress(*_GONE):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def environment(pid: int) -> bytes:
    """The variables that a process was started with; nothing if it has ended."""
    with suppress(*_GONE):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""


def state(pid: int) -> str:
    """The letter of proc(5), such as T for stopped and Z for a zombie; nothing if there is no such process."""
    with suppress(*_GONE):
        return _stat(pid)[0]
    return ""


def lives(pid: int) -> bool:
    return state(pid) not in ("", "Z")


def usage(pid: int) -> Usage | None:
    """What a process holds; None if it has ended."""
    with suppress(*_GONE):
        sizes = dict(re.findall(r"^(\w+):\s+(\d+) kB$", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE))
        return Usage(
            private_bytes=int(sizes["Pss"]) * 1024,
            resident_bytes=int(sizes["Rss"]) * 1024,
            descriptors=len(os.listdir(f"/proc/{pid}/fd")),
            threads=len(os.listdir(f"/proc/{pid}/task")),
        )
    return None


def cpu_seconds(pid: int) -> float:
    """User and system time of a process that runs."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sockets(pid: int) -> set[str]:
    """The inodes of all sockets that a process holds: cheaper to look at than whose peers they are."""
    found = set()
    with suppress(*_GONE):
        for each in os.listdir(f"/proc/{pid}/fd"):
            with suppress(*_GONE):
                if match := _SOCKET.fullmatch(os.readlink(f"/proc/{pid}/fd/{each}")):
                    found.add(match[1])
    return found


def peers(pid: int, ports: Collection[int]) -> set[int]:
    """The peers' ports of the established connections to local `ports` that a process has accepted."""
    inodes = sockets(pid)
    for table in ("tcp6", "tcp"):  # where the listener is dual-stack, all are in the first; to read both is slow
        found = {peer for local, peer, inode in _established(table) if local in ports and inode in inodes}
        if found:
            return found
    return set()


def called(pid: int) -> set[int]:
    """The peers' ports of all established connections of a process, whoever opened them."""
    inodes = sockets(pid)
    return {peer for table in ("tcp6", "tcp") for _, peer, inode in _established(table) if inode in inodes}


def _established(table: str) -> Iterator[tuple[int, int, str]]:
    """Local port, peer's port and inode."""
    for local, peer, inode in _CONNECTION.findall(Path(f"/proc/net/{table}").read_text()):
        yield int(local, 16), int(peer, 16), inode


def _started(pid: int) -> int:
    with suppress(*_GONE):
        return int(_stat(pid)[19])
    return 0


def _stat(pid: int) -> list[str]:
    """The fields after the name, of which the first is the state."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()

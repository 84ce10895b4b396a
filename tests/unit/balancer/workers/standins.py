"""Programs in the place of workers that do what no worker should, and times that suit them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import msgspec

from balancer.workers.lifecycle import Times
from balancer.workers.messages import ToParent, WorkerStart, encode
from balancer.workers.spawning import worker_command

QUICK = Times(start=30.0, ping=0.1, answer=30.0, first_pause=0.05, longest_pause=0.8, proof=0.0, slack=0.1)
"""Short pauses between starts. A program that behaves well is never killed, however busy the machine is."""

WAITS = "signal.pause()"
"""What a program does that says nothing any more."""

_PROGRAM = """\
import json, os, signal, sys, time
start = json.loads(sys.argv[1])
def say(text):
    os.write(start["channel"], bytes.fromhex(text))
say("{said}")
{then}
"""


def standin(*messages: ToParent, then: str = WAITS) -> Callable[[bytes], Sequence[str]]:
    """The command of a program that says `messages` and then does something."""
    said = b"".join(map(encode, messages)).hex()
    program = _PROGRAM.format(said=said, then=then)
    return lambda start: [sys.executable, "-S", "-E", "-c", program, start.decode()]


class Switched:
    """Real workers, or in the places `faulty` ones that cannot start. `failed` counts those."""

    def __init__(self) -> None:
        self.faulty: set[int] = set()
        self.failed = 0

    def __call__(self, start: bytes) -> Sequence[str]:
        if msgspec.json.decode(start, type=WorkerStart).number not in self.faulty:
            return worker_command(start)
        self.failed += 1
        return standin(then="raise SystemExit(1)")(start)

"""Programs in the place of workers that do what no worker should, and times that suit them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from balancer.workers.lifecycle import Times
from balancer.workers.messages import ToParent, encode

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

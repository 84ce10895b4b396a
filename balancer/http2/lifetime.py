"""The states of a client's HTTP/2 connection as a table, and until when it may stay in each. No I/O, no clock."""

from __future__ import annotations

from balancer.runtime.deadlines import NEVER

# The states of a connection. A later one never goes back to an earlier one.
SERVING = 0
NOTICED = 1  # the client was told to send no further request, and may not know yet
LEAVING = 2  # no further request is taken; the connection closes once none is under way
ENDING = 3  # the client was told of its error; what comes is dropped until it closes
CLOSING = 4  # the transport is closing
ENDED = 5

# What moves a connection from one state to another.
NOTICE = 0  # the first step of a drain
LEAVE = 1  # the second step, or the end of an idle connection
FAULTED = 2  # the engine has ended the connection
CLOSE = 3  # nothing is left to write, or the client had its time to read of its error
LOST = 4  # the transport is gone

NEXT: tuple[dict[int, int], ...] = (
    {NOTICE: NOTICED, LEAVE: LEAVING, FAULTED: ENDING, LOST: ENDED},  # SERVING
    {LEAVE: LEAVING, FAULTED: ENDING, LOST: ENDED},  # NOTICED
    {FAULTED: ENDING, CLOSE: CLOSING, LOST: ENDED},  # LEAVING
    {CLOSE: CLOSING, LOST: ENDED},  # ENDING
    {LOST: ENDED},  # CLOSING
    {},  # ENDED
)
"""For each state, the events that count in it and the next states. Any other event comes too late: nothing changes."""


class Lifetime:
    """The state of one connection. Times are those of the loop.

    `until`: when the connection has to leave this state. `head_until`: when the head that comes has to be whole.
    """

    __slots__ = ("_head", "_head_seconds", "head_until", "state", "until")

    def __init__(self, head: int, head_seconds: float) -> None:
        """`head` numbers the head that comes first (`frames.Frames.amid_head`): the preface."""
        self._head = head
        self._head_seconds = head_seconds
        self.state = SERVING
        self.until = NEVER
        self.head_until = NEVER

    def begin(self, now: float) -> None:
        """The preface has to be whole in time from now on."""
        self.head_until = now + self._head_seconds

    def moves(self, event: int, until: float) -> bool:
        """Goes to the next state until then, if `event` counts in this one. Returns whether it does."""
        following = NEXT[self.state].get(event)
        if following is None:
            return False
        self.state = following
        self.until = until
        return True

    def notes_head(self, head: int, now: float) -> bool:
        """Notes which head is coming, 0 for none. Returns whether that is another one than before."""
        if head == self._head:
            return False
        self._head = head
        self.head_until = now + self._head_seconds if head else NEVER
        return True

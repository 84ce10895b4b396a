"""The states of a client's HTTP/1.1 connection, as a table. No I/O, no clock."""

from __future__ import annotations

# The states of a connection. The first two wait for a request.
WAITING = 0  # no byte of the next request has arrived
HEAD = 1  # a part of the head has arrived
SERVING = 2  # a request is being served
UNREAD = 3  # the request is over, but the client does not read its answer, so the next request waits
LINGERING = 4  # the last answer is written; input is dropped until the client closes
CLOSED = 5

# What moves a connection from one state to another.
PART = 0  # a part of a head arrived
REQUEST = 1  # a whole head arrived, or a head that is refused
ANSWERED = 2  # the request is over, and another may follow
STALLED = 3  # the client does not read the answer to a request that is over
TAKEN = 4  # the client has read its answer
LAST = 5  # no request follows
LOST = 6  # the connection is gone

NEXT: tuple[dict[int, int], ...] = (
    {PART: HEAD, REQUEST: SERVING, STALLED: UNREAD, LAST: LINGERING, LOST: CLOSED},  # WAITING
    {REQUEST: SERVING, LAST: LINGERING, LOST: CLOSED},  # HEAD
    {ANSWERED: WAITING, STALLED: UNREAD, LAST: LINGERING, LOST: CLOSED},  # SERVING
    {TAKEN: WAITING, LAST: LINGERING, LOST: CLOSED},  # UNREAD
    {LOST: CLOSED},  # LINGERING
    {},  # CLOSED
)
"""For each state, the events that may happen and the next states. Any other event is a bug and raises KeyError."""

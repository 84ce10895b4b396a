"""Whether the peer of a connection to an endpoint is still there: when it was heard last, and when it is asked.

No I/O, no clock.
"""

from __future__ import annotations

from balancer.runtime.absences import Absences

# Servers of gRPC end a connection with more than two PINGs in 5 minutes (grpc/doc/keepalive.md).
_PING_AFTER_SECONDS = 330.0
_PING_ANSWER_SECONDS = 20.0
# Silence for so long, while a request that is now given up waited, means that the peer may be gone.
_SILENT_SECONDS = 1.0


class Pulse:
    """What one connection hears. Times are those of the loop.

    `ping_after_seconds` is how long the peer may be silent under its streams, and `ping_answer_seconds` how long after
    that. `silent_seconds` is how long it must have been silent to be left alone once a request is given up.
    `is_asked`: a PING was sent, and nothing has come since.
    """

    __slots__ = ("_heard_at", "is_asked", "ping_after_seconds", "ping_answer_seconds", "silent_seconds")

    def __init__(self) -> None:
        self._heard_at = 0.0
        self.is_asked = False
        self.ping_after_seconds = _PING_AFTER_SECONDS
        self.ping_answer_seconds = _PING_ANSWER_SECONDS
        self.silent_seconds = _SILENT_SECONDS

    @property
    def ping_at(self) -> float:
        """When the peer is asked, if nothing comes until then."""
        return self._heard_at + self.ping_after_seconds

    def heard(self, now: float) -> None:
        """Bytes of the peer came, so it is there: the answer to a PING may stand behind much else."""
        self._heard_at = now
        self.is_asked = False

    def is_gone(self, began_at: float, now: float, absences: Absences) -> bool:
        """Whether the peer may be gone: a request that began at `began_at` is given up now, and nothing came meanwhile.

        The `absences` of the loop do not count, because what came during them may not have been read.
        """
        return absences.attended(max(began_at, self._heard_at), now) >= self.silent_seconds

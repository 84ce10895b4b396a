"""What a client is told before its HTTP/2 connection closes: a notice, then GOAWAY (RFC 9113 6.8).

Between the two, requests that were sent before the notice was read are still served. Knows frames as far as the engine
has words for them, and no transport.
"""

from __future__ import annotations

from typing import Final

from balancer.http2.engine import Engine
from balancer.http2.events import NO_ERROR
from balancer.http2.lifetime import LEAVE, NOTICE, NOTICED, Lifetime
from balancer.runtime.deadlines import NEVER

_NOTICE_SECONDS: Final = 1.0  # after the first GOAWAY, for a client that does not answer the PING behind it
_NOTICE_PING: Final = b"draining"
_INADEQUATE_SECURITY: Final = 12  # RFC 9113 9.2.2


def give_notice(engine: Engine, lifetime: Lifetime, now: float) -> bool:
    """Tells the client to send no further request. False if it was told already."""
    if not lifetime.moves(NOTICE, now + _NOTICE_SECONDS):
        return False
    engine.shutdown_notice()
    engine.ping(_NOTICE_PING)
    return True


def is_notice_heard(lifetime: Lifetime, data: bytes) -> bool:
    """Whether an answer to a PING with `data` means that the client knows of the notice."""
    return lifetime.state == NOTICED and data == _NOTICE_PING


def is_notice_over(lifetime: Lifetime, now: float) -> bool:
    """Whether the client has had its time to hear of the notice."""
    return lifetime.state == NOTICED and lifetime.until <= now


def take_leave(engine: Engine, lifetime: Lifetime) -> bool:
    """Takes no further request of the client, and says which were taken. False if that was done already."""
    if not lifetime.moves(LEAVE, NEVER):
        return False
    engine.goaway(NO_ERROR)
    return True


def refuse_cipher(engine: Engine, lifetime: Lifetime) -> None:
    """Serves nobody whose cipher HTTP/2 forbids."""
    engine.goaway(_INADEQUATE_SECURITY)
    lifetime.moves(LEAVE, NEVER)

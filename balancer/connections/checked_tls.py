"""TLS to endpoints for clients that send as soon as a handshake is complete: everything is checked within it.

Connections of requests call `check_shown` before they send, and share more contexts. Does not know what is sent.
"""

from __future__ import annotations

import ssl
from functools import lru_cache
from typing import Final

import msgspec

from balancer.connections.tls import check_shown, set_up_endpoint_context
from balancer.model.handshakes import Handshake

_CONTEXTS: Final = 128


class _CheckedSession(ssl.SSLObject):
    """Fails a handshake if what was shown is not what is demanded."""

    def do_handshake(self) -> None:
        """As that of the base class. Raises ssl.SSLError, too, as `check_shown` does."""
        super().do_handshake()
        context = self.context
        assert isinstance(context, _CheckingContext)
        check_shown(context.demands, self)


class _CheckingContext(ssl.SSLContext):
    sslobject_class = _CheckedSession
    demands: Handshake


def checked_context(tls: Handshake, *, http2: bool = False) -> ssl.SSLContext:
    """As `tls.endpoint_context`, for handshakes after which nobody calls `check_shown`. Raises as that does."""
    return _context(msgspec.structs.replace(tls, server_name=None, follows_client=False), http2)


@lru_cache(maxsize=_CONTEXTS)
def _context(tls: Handshake, http2: bool) -> ssl.SSLContext:
    context = _CheckingContext(ssl.PROTOCOL_TLS_CLIENT)
    context.demands = tls
    set_up_endpoint_context(context, tls, http2=http2)
    return context

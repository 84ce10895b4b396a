"""TLS to endpoints for clients that send as soon as a handshake is complete: everything is checked within it.

Connections of requests call `check_shown` before they send, and share more contexts. Does not know what is sent.
"""

from __future__ import annotations

import ssl
from typing import Final

import msgspec

from balancer.connections.endpoint_contexts import EndpointContexts
from balancer.connections.endpoint_tls import check_shown, set_up_endpoint_context
from balancer.connections.key_exchanges import only_curves
from balancer.model.handshakes import Handshake

# Checks of endpoints, copies and questions to auth services each have so much.
_CONTEXTS_BYTES: Final = 16 * 1024 * 1024


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


def checked_contexts() -> EndpointContexts:
    """Contexts for handshakes after which nobody calls `check_shown`."""
    return EndpointContexts(_demands, _make, _CONTEXTS_BYTES)


def _demands(tls: Handshake) -> Handshake:
    return msgspec.structs.replace(tls, server_name=None, follows_client=False)


def _make(tls: Handshake, http2: bool) -> ssl.SSLContext:
    only_curves()
    context = _CheckingContext(ssl.PROTOCOL_TLS_CLIENT)
    context.demands = tls
    set_up_endpoint_context(context, tls, "h2" if http2 else "http/1.1")
    return context

"""Entry points in the model: the ports that are open, and what stands behind each of them."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from balancer.model.routes import INGRESS


class Protocol(Enum):
    """What clients speak at an entry point. TLS: no HTTP is spoken inside; HTTPS: it depends on the ClientHello."""

    HTTP = "http"
    HTTPS = "https"
    TLS = "tls"
    TCP = "tcp"


_HTTPS: Final = Protocol.HTTPS
_TLS: Final = Protocol.TLS


class EntryPoint(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A port that is open.

    `port` is the one that clients see, which redirects and X-Forwarded-Port name. `socket` is the name of the bound
    socket that the entry point stands on: no two entry points of a model have the same. `configuration` is the key of
    the route configuration behind it. An entry point of another protocol has another key, so that connections of before
    never get what stands behind it. `http2_cleartext`: clients without TLS may begin with HTTP/2 (RFC 9113 3.3),
    whatever the settings say. `reads_proxy_header`: connections begin with a PROXY header, or do not; None: as the
    settings say for all.
    """

    key: str
    protocol: Protocol
    port: int
    socket: str
    configuration: str = INGRESS
    http2_cleartext: bool = False
    reads_proxy_header: bool | None = None

    @property
    def is_secure(self) -> bool:
        """Whether HTTP is spoken over TLS here."""
        return self.protocol is _HTTPS

    def is_announced(self, usual: bool) -> bool:
        """Whether connections begin with a PROXY header; `usual` is what the settings say."""
        return usual if self.reads_proxy_header is None else self.reads_proxy_header

    @property
    def reads_hello(self) -> bool:
        """Whether connections begin with a ClientHello."""
        return self.protocol is _HTTPS or self.protocol is _TLS


HTTP: Final = EntryPoint("http", Protocol.HTTP, 80, "http")
"""The entry point of Ingresses for plain HTTP. Its port is shown, whatever port is bound."""

HTTPS: Final = EntryPoint("https", Protocol.HTTPS, 443, "https")
"""The entry point of Ingresses for HTTPS. Its port is shown, whatever port is bound."""

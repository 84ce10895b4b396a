"""Says where the requests of a client's connection come from, as endpoints are told. No I/O."""

from __future__ import annotations

_HTTPS_PORT = 443


class Origin:
    """The origin of the requests of one client connection, about which endpoints are told.

    `peer` is the client's address without port. `https` says that the client speaks https, to the proxy or to the load
    balancer in front of it. `port` is the port that the client connected to, from a PROXY header, or None; as in
    ingress-nginx, 443 means that the load balancer ended TLS. `written` belongs to the version that writes requests:
    these facts in its own form, None until the first request.
    """

    __slots__ = ("https", "peer", "port", "written")

    def __init__(self, *, peer: str, secure: bool, port: int | None = None) -> None:
        """`secure` says that the connection is TLS."""
        self.peer, self.port = peer, port
        self.https = secure or port == _HTTPS_PORT
        self.written: bytes | None = None

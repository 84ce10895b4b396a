"""Says where requests come from, as endpoints are told. No I/O."""

from __future__ import annotations

from balancer.http.memos import Memo, Remembering
from balancer.http.proofs import ClientProof
from balancer.model.entry_points import EntryPoint

HTTPS_PORT = 443
_PEERS_REMEMBERED = 256  # clients that open a connection for each request


class Origin(Remembering):
    """The origin of a request, about which its endpoint is told.

    All requests of a client's connection have the same one, unless the settings say that proxies in front of this one
    are believed. `peer` is the client's address without port, and `entry_point` is where its connection came in.
    `server_name` is the name of its handshake, empty for none, where it matters which listener that belongs to;
    else None. `https` says that the client speaks https, to the proxy or to the load balancer in front of it, and
    `scheme` is what the client speaks. `port` is the port that the client connected to, from a PROXY header or a
    trusted proxy, or None; in a PROXY header, as in ingress-nginx, 443 means that the load balancer ended TLS. `host`
    is the Host that a trusted proxy got, empty if that is not known. `forwarded_for` are the addresses that the
    endpoint is told, empty if it is `peer` alone. Memos hold these facts as they are written to endpoints. `proof` is
    what the client has shown in its handshake, None if it was not asked. `is_trusted`: a proxy that is believed about
    everything sent the request.
    """

    __slots__ = (
        "entry_point",
        "forwarded_for",
        "host",
        "https",
        "is_trusted",
        "peer",
        "port",
        "proof",
        "scheme",
        "server_name",
    )

    def __init__(
        self,
        *,
        peer: str,
        entry_point: EntryPoint,
        port: int | None = None,
        server_name: str | None = None,
        proof: ClientProof | None = None,
    ) -> None:
        self.peer = peer
        self.port = port
        self.entry_point = entry_point
        self.server_name = server_name
        self.https = entry_point.is_secure or port == HTTPS_PORT
        self.is_trusted = False
        self.scheme = b"https" if self.https else b"http"
        self.host = b""
        self.forwarded_for = b""
        self.memo: Memo | None = None
        self.proof = proof

    @property
    def shown_port(self) -> int:
        """The port that the endpoint is told: that of the entry point if no proxy said another one."""
        return self.entry_point.port if self.port is None else self.port


_shared: dict[tuple[str, str, int | None, str | None], Origin] = {}


def origin_of(
    peer: str,
    entry_point: EntryPoint,
    port: int | None,
    server_name: str | None = None,
    proof: ClientProof | None = None,
) -> Origin:
    """The origin of one connection. Those of one peer that have shown no certificate share it and its memos.

    So nothing may be put into it that another of these connections does not say, too.
    """
    if proof is not None:
        return Origin(peer=peer, entry_point=entry_point, port=port, server_name=server_name, proof=proof)
    key = (peer, entry_point.key, port, server_name)
    found = _shared.get(key)
    if found is not None and found.entry_point is entry_point:
        return found
    if len(_shared) >= _PEERS_REMEMBERED:
        _shared.clear()
    origin = _shared[key] = Origin(peer=peer, entry_point=entry_point, port=port, server_name=server_name)
    return origin

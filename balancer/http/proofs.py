"""What a client has shown of itself in a TLS handshake. Values only."""

from __future__ import annotations

import msgspec

from balancer.model.client_tls import ClientDemand


class ClientProof(msgspec.Struct, frozen=True):
    """The result of a handshake that asked for a certificate.

    `demand` is what was asked for, and `server_name` the name that the client sent, in lower case, without trailing
    dot. Without a certificate `pem` is empty. `errors` are OpenSSL's codes for what is wrong with the chain, in the
    order in which they were found, and `reason` says the last one. `subject` and `issuer` are distinguished names (RFC
    4514) in printable ASCII.
    """

    demand: ClientDemand
    server_name: bytes
    pem: bytes = b""
    errors: tuple[int, ...] = ()
    reason: str = ""
    subject: str = ""
    issuer: str = ""

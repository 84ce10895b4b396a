"""What a TLS handshake with an endpoint needs: the demands of a backend together with the PEM texts that they name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from balancer.model.certificates import Authority, ClientCertificate
from balancer.model.endpoints import EndpointTls
from balancer.model.secrecy import SECRET

_UNUSABLE = b""
"""Stands for a text that the model does not hold. OpenSSL refuses an empty text, so the handshake fails."""


class Handshake(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One way to make handshakes with endpoints. Handshakes with equal content are equal values.

    `server_name` is sent as SNI and verified; `ca_pem` holds the trusted roots (None: the system's). An endpoint that
    asks for a client certificate gets `chain_pem`, whose key is `private_key_pem`. Both or neither are None. The other
    fields are as in `EndpointTls`.
    """

    verify: bool = False
    server_name: str | None = None
    ca_pem: Annotated[bytes | None, SECRET] = None
    chain_pem: Annotated[bytes | None, SECRET] = None
    private_key_pem: Annotated[bytes | None, SECRET] = None
    follows_client: bool = False
    oldest: str = "TLSv1_2"
    newest: str = "TLSv1_3"
    ciphers: str = ""
    intermediates: int = 1
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Without the private key, because a handshake may get into a log or a traceback."""
        return f"Handshake(verify={self.verify!r}, server_name={self.server_name!r})"


class Keyring:
    """The authorities and client certificates of one model, by key."""

    __slots__ = ("_authorities", "_client_certificates")

    def __init__(
        self, authorities: Iterable[Authority] = (), client_certificates: Iterable[ClientCertificate] = ()
    ) -> None:
        self._authorities = {each.key: each for each in authorities}
        self._client_certificates = {each.key: each for each in client_certificates}

    def handshake(self, tls: EndpointTls | None) -> Handshake | None:
        """The handshake that `tls` asks for; None for plain HTTP.

        If the keyring lacks what `tls` names, verification and the client certificate fail. The system's roots never
        take the place of an authority that is missing.
        """
        if tls is None:
            return None
        made = Handshake(
            verify=tls.verify,
            server_name=tls.server_name,
            follows_client=tls.follows_client,
            oldest=tls.oldest,
            newest=tls.newest,
            ciphers=tls.ciphers,
            intermediates=tls.intermediates,
            names=tls.names,
        )
        if tls.authority is not None:
            authority = self._authorities.get(tls.authority)
            made = msgspec.structs.replace(made, ca_pem=authority.ca_pem if authority else _UNUSABLE)
        if tls.client_certificate is not None:
            shown = self._client_certificates.get(tls.client_certificate)
            chain_pem, key_pem = (shown.chain_pem, shown.private_key_pem) if shown else (_UNUSABLE, _UNUSABLE)
            made = msgspec.structs.replace(made, chain_pem=chain_pem, private_key_pem=key_pem)
        return made

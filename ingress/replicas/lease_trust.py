"""Makes the certificate of a replica without any secret, and trusts exactly the certificates that Leases hold now.

Each replica makes a key when it starts, and signs its own certificate. The identity in the certificate is a hash of the
key, so nobody can take the identity of somebody else, whatever a Lease says. A certificate that is in no Lease any more
is believed no longer: each handshake takes the newest context.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

from ingress.replicas.trust import ReplicaCredentials, certificate, context, named

CERTIFICATE_MOST: Final = 4096
"""A certificate in a Lease has so many characters at most; ours has 900."""

_IDENTITY_BYTES: Final = 16


class LeaseTrust:
    """The key of this replica, and whom it believes. `credentials` are what connections are made with."""

    __slots__ = ("_key_pem", "_newest", "_told", "_usable", "certificate_pem", "credentials")

    def __init__(self, row_secret: bytes) -> None:
        """`row_secret` makes the numbers of clients, the same in all replicas."""
        key = ec.generate_private_key(ec.SECP256R1())
        identity = _identity_of(key.public_key())
        self._key_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self.certificate_pem = certificate(named(identity), key, key, issuer=named(identity)).public_bytes(Encoding.PEM)
        self._newest = self._context(ssl.PROTOCOL_TLS_SERVER, ())
        server = self._context(ssl.PROTOCOL_TLS_SERVER, ())
        server.sni_callback = self._choose
        client = self._context(ssl.PROTOCOL_TLS_CLIENT, ())
        self.credentials = ReplicaCredentials(identity, server, client, row_secret)
        self.credentials.believed = frozenset((identity,))
        self._told: frozenset[str] = frozenset()
        self._usable = 0

    def believe(self, certificates: Iterable[str]) -> int:
        """Believes these certificates (PEM) from now on, and nobody else. Returns how many can be used.

        One that does not hold the hash of its own key as its identity cannot.
        """
        told = frozenset(certificates)
        if told == self._told:  # nearly always; contexts for dozens of others take milliseconds
            return self._usable
        self._told = told
        identities = {pem: _identity_in(pem) for pem in told}
        usable = sorted(pem for pem, identity in identities.items() if identity)
        self.credentials.believed = frozenset({self.credentials.identity, *filter(None, identities.values())})
        self._newest = self._context(ssl.PROTOCOL_TLS_SERVER, usable)
        self.credentials.client = self._context(ssl.PROTOCOL_TLS_CLIENT, usable)
        self._usable = len(usable)
        return self._usable

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._newest

    def _context(self, protocol: int, trusted: Iterable[str]) -> ssl.SSLContext:
        # Without anybody else a replica trusts itself: a context needs somebody, and the own identity is refused later.
        everybody = [*trusted, self.certificate_pem.decode("ascii")]
        return context(protocol, "".join(everybody).encode("ascii"), self.certificate_pem, self._key_pem)


def _identity_in(pem: str) -> str:
    """The identity in a certificate; empty if it is none, or not the hash of its key."""
    if len(pem) > CERTIFICATE_MOST or not pem.isascii():
        return ""
    try:
        found = x509.load_pem_x509_certificates(pem.encode("ascii"))
        names = [name.value for each in found for name in each.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        keys = [each.public_key() for each in found]
    except Exception:  # whatever somebody wrote into a Lease
        return ""
    identities = [_identity_of(key) for key in keys if isinstance(key, ec.EllipticCurvePublicKey)]
    return identities[0] if len(found) == 1 and names == identities else ""


def _identity_of(key: ec.EllipticCurvePublicKey) -> str:
    told = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return blake2b(told, digest_size=_IDENTITY_BYTES).hexdigest()

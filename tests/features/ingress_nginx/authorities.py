"""The certificate authorities of the cases, and the certificates that they sign.

`clients`, `server` and `strangers` are roots. `NAME-one` is signed by `NAME`, `NAME-two` by `NAME-one`.
"""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_CLIENTS = {
    "alice": "clients",
    "bob": "clients",
    "mallory": "clients",
    "carol": "clients-one",
    "dave": "clients-two",
    "stranger": "strangers",
}
_REVOKED = "mallory"
_NOW = datetime.datetime.now(datetime.UTC)
_FROM, _UNTIL = _NOW - datetime.timedelta(days=1), _NOW + datetime.timedelta(days=365)


class Pair(NamedTuple):
    """A certificate with its key. `chain` also holds the intermediate certificates, as PEM."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    chain: bytes

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)


class Authorities:
    """Makes each authority, client and context once. Keeps key files below `place`, because `ssl` reads files only."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._pairs: dict[str, Pair] = {}
        self._files: dict[tuple[str, ...], Path] = {}
        self._certificates: dict[tuple[str, ...], Pair] = {}

    def authority(self, name: str) -> Pair:
        if name not in self._pairs:
            parent = {"one": name.removesuffix("-one"), "two": f"{name.removesuffix('-two')}-one"}.get(name[-3:])
            self._pairs[name] = _signed(name, (), self.authority(parent) if parent else None, is_authority=True)
        return self._pairs[name]

    def client(self, name: str) -> Pair:
        if name not in self._pairs:
            self._pairs[name] = _signed(name, (), self.authority(_CLIENTS[name]))
        return self._pairs[name]

    def certificate(self, names: tuple[str, ...], authority: str = "server") -> Pair:
        key = (authority, *names)
        if key not in self._certificates:
            self._certificates[key] = _signed(names[0], names, self.authority(authority))
        return self._certificates[key]

    def revocations(self, authority: str) -> bytes:
        """The revocation list of an authority, as PEM."""
        pair = self.authority(authority)
        revoked = x509.RevokedCertificateBuilder(self.client(_REVOKED).certificate.serial_number, _FROM).build()
        builder = x509.CertificateRevocationListBuilder(pair.certificate.subject, _FROM, _UNTIL)
        return builder.add_revoked_certificate(revoked).sign(pair.key, hashes.SHA256()).public_bytes(Encoding.PEM)

    def client_context(self, tls: dict[str, str]) -> ssl.SSLContext:
        """What a client of the cases demands: nothing of the server's certificate, and what `tls` says."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(tls.get("alpn", "http/1.1").split(","))
        if "max" in tls:
            context.maximum_version = ssl.TLSVersion[tls["max"].replace(".", "_")]
        if "client" in tls:
            context.load_cert_chain(self._file(("client", tls["client"]), self.client(tls["client"])))
        return context

    def server_context(self, names: tuple[str, ...], authority: str, client_authority: str | None) -> ssl.SSLContext:
        """The context of an endpoint. It asks for a certificate of `client_authority` but does without one."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._file((authority, *names), self.certificate(names, authority)))
        if client_authority is not None:
            context.load_verify_locations(cadata=self.authority(client_authority).certificate_pem.decode())
            context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def _file(self, key: tuple[str, ...], pair: Pair) -> Path:
        if key not in self._files:
            self._files[key] = self._place / f"{len(self._files)}.pem"
            self._files[key].write_bytes(pair.chain + pair.key_pem)
        return self._files[key]


def _signed(name: str, names: tuple[str, ...], parent: Pair | None, *, is_authority: bool = False) -> Pair:
    """A certificate for `names` with the common name `name`; its own root without a `parent`."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(parent.certificate.subject if parent else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(each) for each in names]), critical=False)
    signing = parent.key if parent else key
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False
    )
    certificate = builder.sign(signing, hashes.SHA256())
    chain = certificate.public_bytes(Encoding.PEM)
    is_child = parent is not None and parent.certificate.issuer != parent.certificate.subject
    return Pair(certificate, key, chain + parent.chain if parent is not None and is_child else chain)


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.UniformResourceIdentifier(name) if "://" in name else x509.DNSName(name)

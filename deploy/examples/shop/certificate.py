"""Writes secret.yaml: a self-signed certificate for shop.example with a fresh key.

Responsible for the example's TLS Secret alone; run it again only to replace the pair. Nothing but this example may
trust the certificate: its key is published with the sources.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "shop.example"
SECRET = Path(__file__).parent / "secret.yaml"
# Long enough that nobody finds the example expired.
VALIDITY = timedelta(days=36_500)

MANIFEST = """\
# EXAMPLE KEY, published with the sources: never use it for anything real. Written by certificate.py.
apiVersion: v1
kind: Secret
metadata:
  name: shop-tls
  namespace: shop
type: kubernetes.io/tls
data:
  tls.crt: {certificate}
  tls.key: {key}
"""


def main() -> None:
    """Replace secret.yaml."""
    key = ec.generate_private_key(ec.SECP256R1())
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    certificate_pem = certificate_for(key).public_bytes(serialization.Encoding.PEM)
    SECRET.write_text(MANIFEST.format(certificate=encoded(certificate_pem), key=encoded(key_pem)))


def certificate_for(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    """A certificate for HOST, signed with the key itself."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + VALIDITY)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )


def encoded(pem: bytes) -> str:
    """A value as the data of a Secret holds it."""
    return base64.b64encode(pem).decode()


if __name__ == "__main__":
    main()

"""Certificates of one authority in TLS Secrets, and which of them a process serves."""

from __future__ import annotations

import trustme

from tests.integration.manifests import Document, tls_secret
from tests.integration.running import Zonal
from tests.integration.wire import Connection, trusting

_AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)


def certified(name: str, *hosts: str, namespace: str = "shop") -> Document:
    """A TLS Secret with a fresh certificate for the hosts."""
    pair = _AUTHORITY.issue_cert(*hosts, key_type=trustme.KeyType.ECDSA)
    chain = b"".join(part.bytes() for part in pair.cert_chain_pems)
    return tls_secret(name, chain=chain, key=pair.private_key_pem.bytes(), namespace=namespace)


async def serial_of(zonal: Zonal, host: str) -> str:
    """The serial number of the certificate that is served for `host`; empty if it is not one of ours for it."""
    context = trusting(_AUTHORITY.cert_pem.bytes())
    try:
        async with await Connection.open(zonal.https_port, tls=context, server_name=host) as connection:
            return str(connection.certificate["serialNumber"])
    except OSError:  # ssl.SSLCertVerificationError is one
        return ""

"""Chains of certificates that clients and endpoints send: what is too long ends one handshake and nothing else."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme

from tests.integration.test_client_certificates import CLIENTS, CLUSTER, GUARDED, serving
from tests.integration.test_tls_endpoints import AUTHORITY, NAME, scene
from tests.integration.wire import Connection, Response, trusting

LONG_BYTES = 110 * 1024  # OpenSSL takes 100 KiB (SSL_MAX_CERT_LIST_DEFAULT)
FILLING = ssl.PEM_cert_to_DER_cert(CLIENTS.cert_pem.bytes().decode())


def chained(context: ssl.SSLContext, issued: trustme.LeafCert, place: Path, least_bytes: int) -> ssl.SSLContext:
    """`context` that shows a certificate, and behind it others that nobody needs, of so many bytes in all."""
    more = CLIENTS.cert_pem.bytes() * -(-least_bytes // len(FILLING))
    place.write_bytes(issued.private_key_and_cert_chain_pem.bytes() + more)
    context.load_cert_chain(place)
    return context


@pytest.mark.faults
@pytest.mark.parametrize("annotations", [{}, {"proxy_ssl_secret": "shop/ca", "proxy_ssl_verify": "on"}])
async def test_an_endpoint_with_a_long_chain_is_not_spoken_to(tmp_path: Path, annotations: dict[str, str]) -> None:
    for number, (least_bytes, status) in enumerate(((8 * 1024, 200), (LONG_BYTES, 502))):
        shows = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        chained(shows, AUTHORITY.issue_cert(NAME), tmp_path / f"{number}.pem", least_bytes)
        async with scene(shows) as at:
            at.annotate(backend_protocol="HTTPS", proxy_ssl_name=NAME, **annotations)
            assert (await at.get()).status == status
            assert at.endpoint.requests == (1 if status == 200 else 0)


@pytest.mark.faults
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_client_with_a_long_chain_is_not_served(tmp_path: Path, version: ssl.TLSVersion) -> None:
    async def ask(least_bytes: int) -> Response:
        tls = trusting()
        tls.maximum_version = version
        chained(tls, CLIENTS.issue_cert("alice@shop.test"), tmp_path / f"{least_bytes}.pem", least_bytes)
        async with await Connection.open(plane.https_port, tls=tls, server_name=GUARDED) as connection:
            return await connection.get(GUARDED)

    async with serving(*CLUSTER) as (plane, endpoint):
        assert (await ask(8 * 1024)).status == 200
        with pytest.raises((ssl.SSLError, OSError, EOFError)):
            await ask(LONG_BYTES)
        assert (await ask(16 * 1024)).status == 200
        assert endpoint.requests == 2

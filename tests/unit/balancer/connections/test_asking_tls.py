"""Handshakes that ask for certificates, in memory and over both event loops: what is shown, and bytes both ways."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import gc
import ssl
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import trustme
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from balancer.connections.asking_tls import AskedSession, AskingContext, SharedContext
from balancer.connections.trust import Trust
from balancer.http.proofs import ClientProof
from balancer.model.certificates import Authority, Certificate
from balancer.model.client_tls import ClientDemand
from balancer.model.settings import ListenerTls

pytestmark = pytest.mark.large

SERVER, CLIENTS, STRANGERS = trustme.CA(), trustme.CA(), trustme.CA()
MIDDLE = CLIENTS.create_child_ca()
LOWER = MIDDLE.create_child_ca()
DEMAND = ClientDemand("shop.test", "shop/clients", "digest")
VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])


def shown_by_server() -> Certificate:
    issued = SERVER.issue_cert("shop.test")
    chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
    return Certificate("shop/shop", chain, issued.private_key_pem.bytes(), 0.0)


CERTIFICATE = shown_by_server()


def asking(*, depth: int = 1, crl: bytes = b"", refuses: bool = False) -> AskingContext:
    demand = ClientDemand("shop.test", "shop/clients", "digest", depth=depth)
    trust = Trust.read(Authority("shop/clients", CLIENTS.cert_pem.bytes(), crl))
    shared = SharedContext(CERTIFICATE, trust, depth, ListenerTls(), "", refuses=refuses)
    return shared.asking(demand, "SHOP.test.")


def client_context(signer: trustme.CA | None, *, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.load_verify_locations(cadata=SERVER.cert_pem.bytes().decode())
    context.maximum_version = version
    context.set_alpn_protocols(["http/1.1"])
    if signer is not None:
        signer.issue_cert("alice@shop.test", common_name="alice").configure_cert(context)
    return context


def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> tuple[AskedSession, ssl.SSLObject]:
    """Both sides of a connection in memory after the handshake."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = server.wrap_bio(to_server, to_client, server_side=True)
    other = client.wrap_bio(to_client, to_server, server_hostname="shop.test")
    left = [other.do_handshake, one.do_handshake]
    for _ in range(20):
        for step in tuple(left):
            try:
                step()
            except ssl.SSLWantReadError:
                continue
            left.remove(step)
    assert left == []
    assert isinstance(one, AskedSession)
    return one, other


def proof_of(signer: trustme.CA | None, server: AskingContext | None = None, **more: Any) -> ClientProof:
    session, _ = handshake(server or asking(), client_context(signer, **more))
    assert session.proof is not None
    return session.proof


@VERSIONS
def test_a_good_certificate_is_shown_without_errors(version: ssl.TLSVersion) -> None:
    proof = proof_of(CLIENTS, version=version)
    assert proof.errors == ()
    assert proof.demand == DEMAND
    assert proof.server_name == b"shop.test"
    assert proof.subject.startswith("CN=alice,")
    assert proof.pem.startswith(b"-----BEGIN CERTIFICATE-----\n")


@VERSIONS
def test_a_handshake_succeeds_without_a_certificate_and_with_a_strange_one(version: ssl.TLSVersion) -> None:
    assert proof_of(None, version=version) == ClientProof(DEMAND, b"shop.test")
    stranger = proof_of(STRANGERS, version=version)
    assert stranger.errors == (20, 21)
    assert stranger.reason == "unable to verify the first certificate"


@VERSIONS
def test_where_it_counts_in_the_handshake_nobody_else_gets_through(version: ssl.TLSVersion) -> None:
    assert proof_of(CLIENTS, asking(refuses=True), version=version).errors == ()
    for signer in (None, STRANGERS):
        with pytest.raises(ssl.SSLError):
            proof_of(signer, asking(refuses=True), version=version)
    with pytest.raises(ssl.SSLError):
        proof_of(LOWER, asking(refuses=True), version=version)


def test_so_many_intermediate_certificates_are_allowed() -> None:
    assert proof_of(MIDDLE).errors == ()
    assert 22 in proof_of(LOWER).errors
    assert proof_of(LOWER, asking(depth=2)).errors == ()


def revoking(*serials: int) -> bytes:
    now = datetime.datetime.now(datetime.UTC)
    issuer = x509.load_pem_x509_certificate(CLIENTS.cert_pem.bytes())
    made = x509.CertificateRevocationListBuilder().issuer_name(issuer.subject)
    made = made.last_update(now - datetime.timedelta(days=1)).next_update(now + datetime.timedelta(days=1))
    for serial in serials:
        revoked = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now)
        made = made.add_revoked_certificate(revoked.build())
    key = load_pem_private_key(CLIENTS.private_key_pem.bytes(), password=None)
    signed = made.sign(key, hashes.SHA256())  # type: ignore[arg-type]
    return signed.public_bytes(Encoding.PEM)


def test_a_revoked_certificate_is_an_error() -> None:
    issued = CLIENTS.issue_cert("mallory@shop.test")
    serial = x509.load_pem_x509_certificate(issued.cert_chain_pems[0].bytes()).serial_number
    context = client_context(None)
    issued.configure_cert(context)
    session, _ = handshake(asking(crl=revoking(serial)), context)
    assert session.proof is not None
    assert session.proof.errors == (23,)
    assert proof_of(CLIENTS, asking(crl=revoking(serial))).errors == ()


def test_a_session_is_never_resumed() -> None:
    server, client = asking(), client_context(CLIENTS)
    _, first = handshake(server, client)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = server.wrap_bio(to_server, to_client, server_side=True)
    other = client.wrap_bio(to_client, to_server, server_hostname="shop.test", session=first.session)
    for _ in range(20):
        for step in (other.do_handshake, one.do_handshake):
            with contextlib.suppress(ssl.SSLWantReadError):
                step()
    assert not other.session_reused
    assert one.proof is not None
    assert one.proof.subject.startswith("CN=alice,")


def test_bytes_pass_both_ways_and_the_end_is_heard() -> None:
    server, client = handshake(asking(), client_context(CLIENTS))
    assert client.selected_alpn_protocol() == "http/1.1"
    with pytest.raises(ssl.SSLWantReadError):
        server.read(10)
    client.write(b"hello")
    assert server.read(3) == b"hel"
    assert server.pending() >= 2
    buffer = bytearray(10)
    assert server.read(10, memoryview(buffer)) == 2
    assert server.write(b"") == 0
    assert server.write(memoryview(b"world")) == 5
    assert client.read(10) == b"world"
    with pytest.raises(ssl.SSLWantReadError):
        client.unwrap()
    assert server.read(10) == b""
    server.unwrap()


def test_what_is_no_tls_is_an_error_of_tls() -> None:
    to_server = ssl.MemoryBIO()
    session = asking().wrap_bio(to_server, ssl.MemoryBIO(), server_side=True)
    to_server.write(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(ssl.SSLError):
        session.do_handshake()
    assert session.proof is None


def test_nothing_of_a_session_is_left_to_the_garbage_collector() -> None:
    session, client = handshake(asking(), client_context(CLIENTS))
    left = weakref.ref(session)
    gc.disable()
    try:
        del session
        assert left() is None
    finally:
        gc.enable()
    assert client.version() is not None


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        assert isinstance(self.transport, asyncio.WriteTransport) or hasattr(self.transport, "write")
        self.transport.write(data)


async def echo_a_megabyte() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Echo, "127.0.0.1", 0, ssl=asking())
    port = server.sockets[0].getsockname()[1]
    sent = bytes(range(256)) * 4096
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=client_context(CLIENTS), server_hostname="shop.test"
    )

    async def send() -> None:
        writer.write(sent)
        await writer.drain()

    sending = asyncio.create_task(send())
    assert await reader.readexactly(len(sent)) == sent
    await sending
    writer.close()
    await writer.wait_closed()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_large_messages_pass_over_both_event_loops(run: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    run(asyncio.wait_for(echo_a_megabyte(), 60))

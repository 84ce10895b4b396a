"""Sessions of TLS over real sockets: TLS 1.2 resumes one for its own name, and nothing else is resumed."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
import trustme

from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint, echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import (
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
    tls_secret,
)
from tests.integration.test_client_certificates import CLIENTS, authority, guarded
from tests.integration.wire import trusting

AUTHORITY = trustme.CA()
ONE, TWIN, OTHER, GUARDED = "one.test", "twin.test", "other.test", "guarded.test"
TLS_1_2, TLS_1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
_CONTEXT = TranslationContext(allow_local_endpoints=True)
_LIMIT_SECONDS = 60.0


class Seen(NamedTuple):
    """What a client has seen of one request. `status` is 0 if the connection was cut."""

    status: int
    was_resumed: bool
    session: ssl.SSLSession | None


class Client:
    """Asks as a client that speaks one version of TLS, and offers whatever session it is given."""

    def __init__(self, plane: DataPlane, version: ssl.TLSVersion = TLS_1_2) -> None:
        self._port = plane.https_port
        self._context = trusting()
        self._context.minimum_version = self._context.maximum_version = version

    async def ask(self, name: str, session: ssl.SSLSession | None = None) -> Seen:
        """One request over a connection of its own."""
        return await asyncio.to_thread(self._ask, name, session)

    def _ask(self, name: str, session: ssl.SSLSession | None) -> Seen:
        address = ("127.0.0.1", self._port)
        with (
            socket.create_connection(address, timeout=_LIMIT_SECONDS) as plain,
            self._context.wrap_socket(plain, server_hostname=name or None, session=session) as secure,
        ):
            try:
                secure.sendall(f"GET / HTTP/1.1\r\nHost: {name or ONE}\r\nConnection: close\r\n\r\n".encode())
                answer = b"".join(iter(lambda: secure.recv(65536), b""))
            except OSError:  # the other side has cut the connection
                answer = b""
            status = int(answer.split(b" ", 2)[1]) if answer else 0
            return Seen(status, bool(secure.session_reused), secure.session)


def secret(name: str, *hosts: str) -> Document:
    issued = AUTHORITY.issue_cert(*hosts)
    chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
    return tls_secret(name, chain=chain, key=issued.private_key_pem.bytes())


def secured(host: str, name: str) -> Document:
    return ingress(host, rule(host, path("/", "web")), tls=[{"hosts": [host], "secretName": name}])


SHARED, OTHERS = secret("shared", ONE, TWIN), secret("other", OTHER)
HOSTS = (secured(ONE, "shared"), secured(TWIN, "shared"), secured(OTHER, "other"))


def cluster(endpoint: EchoEndpoint, *documents: Document, **settings: str) -> list[Document]:
    return [ingress_class(), config_map(**settings), service("web"), endpoint_slice(endpoint), *HOSTS, *documents]


@asynccontextmanager
async def serving(*documents: Document) -> AsyncIterator[tuple[DataPlane, EchoEndpoint]]:
    async with data_plane() as plane, echoing("web", {"zone-a": 1}) as (endpoint,):
        plane.serve(cluster(endpoint, SHARED, OTHERS, *documents), _CONTEXT)
        yield plane, endpoint


async def test_tls_1_2_resumes_a_session_for_the_name_that_it_was_made_for() -> None:
    async with serving() as (plane, _):
        client = Client(plane)
        first = await client.ask(ONE)
        assert (first.status, first.was_resumed) == (200, False)
        for name in (ONE, ONE.upper(), ONE):
            again = await client.ask(name, first.session)
            assert (again.status, again.was_resumed) == (200, True)


@pytest.mark.parametrize(("made_for", "offered_for"), [(ONE, OTHER), (ONE, TWIN), (ONE, ""), ("", ONE), (OTHER, ONE)])
async def test_a_session_of_one_name_serves_no_other(
    made_for: str, offered_for: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as (plane, endpoint):
        client = Client(plane)
        first = await client.ask(made_for)
        served = endpoint.requests
        assert (await client.ask(offered_for, first.session)).status == 0
        assert endpoint.requests == served
        assert (await client.ask(offered_for)).status == 200
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []


async def test_tls_1_3_gives_no_session_and_resumes_none() -> None:
    async with serving() as (plane, _):
        client = Client(plane, TLS_1_3)
        first = await client.ask(ONE)
        assert first.session is not None
        assert not first.session.has_ticket
        again = await client.ask(ONE, first.session)
        assert (again.status, again.was_resumed) == (200, False)


async def test_another_certificate_ends_the_sessions_of_the_one_before() -> None:
    async with serving() as (plane, endpoint):
        client = Client(plane)
        first = await client.ask(ONE)
        plane.serve(cluster(endpoint, secret("shared", ONE, TWIN), OTHERS), _CONTEXT)
        after = await client.ask(ONE, first.session)
        assert (after.status, after.was_resumed) == (200, False)
        assert (await client.ask(ONE, after.session)).was_resumed


async def test_other_ciphers_end_the_sessions_that_were_made_with_those_before() -> None:
    async with serving() as (plane, endpoint):
        client = Client(plane)
        first = await client.ask(ONE)
        plane.serve(cluster(endpoint, SHARED, OTHERS, ssl_ciphers="ECDHE-ECDSA-AES256-GCM-SHA384"), _CONTEXT)
        after = await client.ask(ONE, first.session)
        assert (after.status, after.was_resumed) == (200, False)


async def test_a_change_of_endpoints_ends_no_session() -> None:
    async with serving() as (plane, _), echoing("web", {"zone-b": 1}) as (other,):
        client = Client(plane)
        first = await client.ask(ONE)
        plane.serve(cluster(other, SHARED, OTHERS), _CONTEXT)
        assert (await client.ask(ONE, first.session)).was_resumed


async def test_a_host_that_asks_for_certificates_resumes_nothing() -> None:
    documents = (guarded(GUARDED, "clients"), authority("clients", CLIENTS), secret("cert", GUARDED))
    async with serving(*documents) as (plane, endpoint):
        client = Client(plane)
        elsewhere = await client.ask(ONE)
        served = endpoint.requests
        first = await client.ask(GUARDED)
        for session in (elsewhere.session, first.session):
            refused = await client.ask(GUARDED, session)
            assert (refused.status, refused.was_resumed) == (400, False)
        assert endpoint.requests == served


async def test_a_host_that_begins_to_ask_for_certificates_does_not_resume_what_was_made_before() -> None:
    async with serving() as (plane, endpoint):
        client = Client(plane)
        first = await client.ask(ONE)
        asking = (guarded(OTHER, "clients"), authority("clients", CLIENTS), secret("cert", OTHER))
        documents = [each for each in cluster(endpoint, SHARED, OTHERS) if each["metadata"]["name"] != OTHER]
        second = await client.ask(OTHER)
        plane.serve([*documents, *asking], _CONTEXT)
        for session in (first.session, second.session):
            refused = await client.ask(OTHER, session)
            assert (refused.status, refused.was_resumed) == (400, False)

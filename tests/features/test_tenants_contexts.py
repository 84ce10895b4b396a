"""A tenant who needs more TLS contexts than there is room for makes its own anew, and another tenant keeps its own.

Of each kind of contexts: those that show a certificate, those that ask for one, and those for endpoints. The worker
runs in this process, so that the test can see which contexts live.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import itertools
import ssl
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trustme
from OpenSSL import SSL

from balancer.connections import asking_contexts, endpoint_contexts, shown_contexts
from balancer.connections.listener_sessions import ListenerContext
from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint
from tests.features.tenants.handshakes import client_hello
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
from tests.integration.wire import Connection, get, trusting
from tests.unit.ingress.translation.secrets.material.hostile import certificate, certificates, honest, rsa_info

pytestmark = pytest.mark.faults

_AUTHORITY, _STRANGER = (trustme.CA(key_type=trustme.KeyType.ECDSA) for _ in range(2))
_TENANTS = ("greedy", "modest")
_MODEST, _HOSTS = "modest.test", "h{}.greedy.test"
_PREFIX = "nginx.ingress.kubernetes.io/"
_CIPHERS = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES128-SHA256",
)
_LONG = certificates(*[certificate(rsa_info(honest().n), filling=15_000)] * 2)
"""What makes a chain nearly as long as one may be."""
_AUTHORITIES = certificates(*(certificate(rsa_info(honest().n), filling=7_000 + number) for number in range(12)))
"""As many and as large authorities as a Secret may have, nearly."""
_BEYOND = 50  # contexts for which there is no room
_BY_TURNS = 20  # of so many contexts that the greedy tenant needs, the modest one asks after each


def lists() -> Iterator[str]:
    """Lists of ciphers, each of which needs a context of its own."""
    return map(":".join, itertools.permutations(_CIPHERS))


def pair(name: str, *, filling: bytes = b"") -> tuple[bytes, bytes]:
    issued = _AUTHORITY.issue_cert(name, key_type=trustme.KeyType.ECDSA)
    return issued.cert_chain_pems[0].bytes() + filling, issued.private_key_pem.bytes()


def secret(name: str, namespace: str, ca_pem: bytes) -> Document:
    data = {"ca.crt": base64.b64encode(ca_pem).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": data}


def tenant(name: str, chain: bytes, key: bytes) -> list[Document]:
    """What a tenant has beside its Ingresses."""
    return [
        tls_secret("t", chain=chain, key=key, namespace=name),
        secret("ca", name, _AUTHORITY.cert_pem.bytes()),
        secret("many", name, _AUTHORITIES),
        service("app", namespace=name),
    ]


def web(namespace: str, name: str, host: str, at: str = "/", **annotations: str) -> Document:
    return ingress(
        name,
        rule(host, path(at, "app")),
        namespace=namespace,
        tls=[{"hosts": [host], "secretName": "t"}],
        annotations={_PREFIX + key.replace("_", "-"): text for key, text in annotations.items()},
    )


class Stage:
    """A worker before one endpoint of both tenants, which serves what `serve` is given."""

    def __init__(self, plane: DataPlane, endpoint: EchoEndpoint) -> None:
        self.plane, self._endpoint = plane, endpoint

    def serve(self, *documents: Document) -> None:
        settings = config_map(ssl_redirect="false", upstream_keepalive_connections="0")
        tenants = [
            *tenant("greedy", *pair("*.greedy.test", filling=_LONG)),
            *tenant("modest", *pair(_MODEST)),
        ]
        slices = [endpoint_slice(self._endpoint, namespace=name) for name in _TENANTS]
        context = TranslationContext(allow_local_endpoints=True)
        found = self.plane.serve([ingress_class(), settings, *tenants, *slices, *documents], context)
        assert found == ()

    async def modest(self) -> int:
        """The status of a request of the modest tenant over a handshake of its own."""
        tls = trusting(_AUTHORITY.cert_pem.bytes())
        async with await Connection.open(self.plane.https_port, tls=tls, server_name=_MODEST) as connection:
            return (await connection.get(_MODEST)).status

    async def greets(self, host: str) -> None:
        """A client that leaves as soon as it is shown the certificate of `host`."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.plane.https_port)
        writer.write(client_hello(host))
        await reader.readexactly(5)
        writer.transport.abort()


@asynccontextmanager
async def staged(*, tls: ssl.SSLContext | None = None) -> AsyncIterator[Stage]:
    endpoint = EchoEndpoint("app")
    await endpoint.start(tls=tls)
    try:
        async with data_plane() as plane:
            yield Stage(plane, endpoint)
    finally:
        await endpoint.stop()


def living(kind: type) -> list[Any]:
    """The contexts of exactly this kind that live in this process."""
    gc.collect()
    return [each for each in gc.get_objects() if type(each) is kind]


async def made_by(asked: Callable[[], Awaitable[int]], kind: type) -> weakref.ref[Any]:
    """The context that is made for a request, which succeeds."""
    before = {id(each) for each in living(kind)}
    assert await asked() == 200
    (made,) = [each for each in living(kind) if id(each) not in before]
    return weakref.ref(made)


async def by_turns(greedy: Callable[[int], Awaitable[None]], modest: Callable[[], Awaitable[int]], most: int) -> None:
    """The greedy tenant needs `most` contexts, one after the other, and each request of the modest one succeeds."""
    for first in range(0, most, _BY_TURNS):
        for number in range(first, min(first + _BY_TURNS, most)):
            await greedy(number)
        assert await modest() == 200


@pytest.mark.slow
async def test_contexts_that_show_a_certificate() -> None:
    fits = shown_contexts._BYTES_MOST // (4 * len(_LONG))  # nearly
    wanted = fits + _BEYOND
    async with staged() as stage:
        hosts = [
            web("greedy", f"h{number}", _HOSTS.format(number), ssl_ciphers=each)
            for number, each in zip(range(wanted), lists(), strict=False)
        ]
        stage.serve(web("modest", "web", _MODEST), *hosts)
        kept = await made_by(stage.modest, ListenerContext)
        await by_turns(lambda number: stage.greets(_HOSTS.format(number)), stage.modest, wanted)
        assert fits // 2 < len(living(ListenerContext)) < fits + _BEYOND // 2
        assert kept() is not None


async def test_contexts_that_ask_for_a_certificate() -> None:
    fits = asking_contexts._CONTEXTS_BYTES // (4 * len(_LONG))
    wanted = fits + _BEYOND
    asking = {"auth_tls_secret": "{}/ca", "auth_tls_verify_client": "optional"}
    async with staged() as stage:
        for_greedy, for_modest = ({key: text.format(name) for key, text in asking.items()} for name in _TENANTS)
        hosts = [
            web("greedy", f"h{number}", _HOSTS.format(number), ssl_ciphers=each, **for_greedy)
            for number, each in zip(range(wanted), lists(), strict=False)
        ]
        stage.serve(web("modest", "web", _MODEST, **for_modest), *hosts)
        kept = await made_by(stage.modest, SSL.Context)
        await by_turns(lambda number: stage.greets(_HOSTS.format(number)), stage.modest, wanted)
        assert fits // 2 < len(living(SSL.Context)) < fits + _BEYOND // 2
        assert kept() is not None


async def test_contexts_for_endpoints() -> None:
    fits = endpoint_contexts.CONTEXTS_BYTES // (8 * len(_AUTHORITIES))
    wanted = fits + fits // 4
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _AUTHORITY.issue_cert("app.internal", key_type=trustme.KeyType.ECDSA).configure_cert(shown)
    verifies = {"backend_protocol": "HTTPS", "proxy_ssl_verify": "on", "proxy_ssl_name": "app.internal"}
    async with staged(tls=shown) as stage:
        many = {"proxy_ssl_secret": "greedy/many", **verifies}
        paths = [
            web("greedy", f"p{number}", "web.greedy.test", f"/{number}", proxy_ssl_ciphers=each, **many)
            for number, each in zip(range(wanted), lists(), strict=False)
        ]
        stage.serve(web("modest", "web", _MODEST, proxy_ssl_secret="modest/ca", **verifies), *paths)

        async def greedy(number: int) -> None:
            answer = await get(stage.plane.http_port, "web.greedy.test", f"/{number}")
            assert answer.status == 502, "none of these authorities has signed"

        async def modest() -> int:
            return (await get(stage.plane.http_port, _MODEST)).status

        kept = await made_by(modest, ssl.SSLContext)
        before = len(living(ssl.SSLContext))
        await by_turns(greedy, modest, wanted)
        assert fits // 2 < len(living(ssl.SSLContext)) - before <= fits
        assert kept() is not None

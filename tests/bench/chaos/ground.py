"""The ground of the chaos: where the process listens, the folder that it follows, and the honest endpoints.

Responsible for what all actors share. It must not know any actor.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import trustme

from tests.fakes.clients import RawClient
from tests.features.faults.stage import Addressed, Place, slice_of
from tests.features.http2.endpoints import Http1Endpoint
from tests.integration.manifests import (
    Document,
    ManifestFolder,
    config_map,
    ingress,
    ingress_class,
    path,
    rule,
    service,
    tls_secret,
)

APP = "app.test"
"""The host of the cases of HTTP/1 and HTTP/2, and of the modest tenant."""

VICTIM = "victim.test"
OPEN = "open"
"""The Service at `/` of both hosts: it answers whatever comes."""

_PREFIX = "nginx.ingress.kubernetes.io/"
_READ_BYTES = 65536
_TIDY_SECONDS = 1.0
_SETTINGS = {
    "ssl_redirect": "false",
    "http2_cleartext": "true",
    "proxy_body_size": "8m",
    "client_header_timeout": "5",
    "client_body_timeout": "5",
    "proxy_connect_timeout": "2",
    "proxy_read_timeout": "5",
    "proxy_send_timeout": "5",
    "upstream_keepalive_timeout": "2",
}
"""Deadlines of seconds, so that each is met hundreds of times; all else is as it comes."""


class Ground:
    """The ports are 0 until the process serves."""

    def __init__(self, place: Path) -> None:
        self.folder = ManifestFolder(place)
        self.authority = trustme.CA()
        self.endpoint = Http1Endpoint(OPEN)
        self.http_port = self.https_port = self.admin_port = 0
        self.changes = 0
        self.rubbish_bytes = 0

    def client_tls(self, *protocols: str) -> ssl.SSLContext:
        """A client that trusts anybody and offers these protocols."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context

    def write(self, name: str, *documents: Document) -> None:
        """One change of the cluster."""
        self.changes += 1
        self.folder.write(f"{name}.json", *documents)

    def remove(self, name: str) -> None:
        self.changes += 1
        with suppress(FileNotFoundError):
            (self.folder.place / f"{name}.json").unlink()

    def issued(self, *names: str) -> tuple[bytes, bytes]:
        """A chain and its key."""
        made = self.authority.issue_cert(*names)
        return b"".join(part.bytes() for part in made.cert_chain_pems), made.private_key_pem.bytes()

    @property
    def honest(self) -> Place:
        """The place of the endpoint that answers everything."""
        return Place("127.0.0.1", self.endpoint.port)


def site(
    namespace: str,
    endpoints: Sequence[Addressed],
    *,
    host: str = "",
    paths: Sequence[Document] = (),
    annotations: Mapping[str, str] | None = None,
    secret: str = "",
) -> list[Document]:
    """A namespace with one Ingress, one Service `app` and its endpoints; `host` is the namespace's own without it.

    Keys of `annotations` are written without the prefix of ingress-nginx.
    """
    host = host or f"{namespace}.test"
    said = {_PREFIX + key: text for key, text in (annotations or {}).items()}
    slices = [slice_of("app", each) for each in endpoints]
    for each in slices:
        each["metadata"]["namespace"] = namespace
    rules = rule(host, *(paths or [path("/", "app")]))
    tls = [{"hosts": [host], "secretName": secret}] if secret else []
    web = ingress("web", rules, namespace=namespace, annotations=said, tls=tls)
    return [web, service("app", namespace=namespace), *slices]


@asynccontextmanager
async def prepared(place: Path) -> AsyncIterator[Ground]:
    """The ground before the process starts, with the open hosts. Its honest endpoint keeps nothing for long."""
    ground = Ground(place)
    async with AsyncExitStack() as stack:
        await ground.endpoint.start()
        stack.callback(ground.endpoint.stop)
        tidying = asyncio.create_task(_tidy(ground))
        stack.callback(tidying.cancel)
        ground.folder.write("class.yaml", ingress_class())
        ground.folder.write("settings.yaml", config_map(**_SETTINGS))
        for host, namespace in ((APP, "open-app"), (VICTIM, "open-victim")):
            chain, key = ground.issued(host)
            secret = tls_secret("own", chain=chain, key=key, namespace=namespace)
            ground.write(namespace, secret, *site(namespace, [ground.honest], host=host, secret="own"))
        yield ground


async def _tidy(ground: Ground) -> None:
    """Forget what the honest endpoint has kept, and count what was no request."""
    endpoint = ground.endpoint
    while True:
        await asyncio.sleep(_TIDY_SECONDS)
        endpoint.received.clear()
        ground.rubbish_bytes += len(endpoint.rubbish)
        endpoint.rubbish = b""


async def heard(client: RawClient, *, seconds: float) -> int:
    """Read and drop what comes, until the end or for so long; how many bytes it was."""
    size = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while data := await client.reader.read(_READ_BYTES):
                size += len(data)
    return size

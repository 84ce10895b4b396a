"""`ssl-passthrough` over real sockets: TLS of some hosts passes on the port where that of others ends."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trustme

from tests.integration.manifests import (
    Document,
    ManifestFolder,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
    tls_secret,
)
from tests.integration.running import Zonal, running

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
PASSED = {"nginx.ingress.kubernetes.io/ssl-passthrough": "true"}


class Site:
    """An endpoint that answers every request of HTTP/1.1 with its own name, over TLS if it has names."""

    def __init__(self, name: str, *names: str) -> None:
        self.service = name
        self.zone = "zone-a"
        self.port = 0
        self._tls = _server(*names) if names else None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Site]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            said = self.service.encode()
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


def _server(*names: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert(*names, key_type=trustme.KeyType.ECDSA).configure_cert(context)
    return context


async def ask(zonal: Zonal, host: str, *, server_name: str | None = None, tls: bool = True) -> tuple[int, str]:
    """Status and body of a request for `host`. `server_name` is what the handshake names; empty: nobody."""
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    name = host if server_name is None else server_name
    context.check_hostname = bool(name)
    if not name:
        context.verify_mode = ssl.CERT_NONE
    port = zonal.https_port if tls else zonal.http_port
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context if tls else None, server_hostname=name if tls else None
    )
    try:
        writer.write(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        return int(head.split()[1]), body.decode()
    finally:
        writer.transport.abort()


def objects(vault: Site, web: Site, **annotations: str) -> list[Document]:
    leaf = AUTHORITY.issue_cert("*.app.test", "shop.test", key_type=trustme.KeyType.ECDSA)
    secret = tls_secret("cert", chain=leaf.cert_chain_pems[0].bytes(), key=leaf.private_key_pem.bytes())
    hosts = [{"hosts": ["shop.test", "web.app.test"], "secretName": "cert"}]
    no_redirect = {"nginx.ingress.kubernetes.io/ssl-redirect": "false"}
    return [
        config_map(),
        ingress_class(),
        secret,
        ingress("a-web", *(rule(name, path("/", "web")) for name in ("shop.test", "web.app.test")), tls=hosts),
        ingress(
            "vault",
            *(rule(name, path("/", "vault")) for name in ("vault.test", "*.app.test")),
            annotations={**PASSED, **no_redirect, **annotations},
        ),
        *(service(each.service) for each in (vault, web)),
        *(endpoint_slice(each) for each in (vault, web)),
    ]


@asynccontextmanager
async def serving(tmp_path: Path, *options: str, **annotations: str) -> AsyncIterator[tuple[Zonal, ManifestFolder]]:
    vault, web = Site("vault", "vault.test", "*.app.test"), Site("web")
    folder = ManifestFolder(tmp_path / "manifests")
    async with vault.open(), web.open():
        folder.write("all.json", *objects(vault, web, **annotations))
        async with running(folder.place, *options) as zonal:
            yield zonal, folder


async def test_tls_of_some_hosts_passes_beside_that_of_others(tmp_path: Path) -> None:
    async with serving(tmp_path, "--enable-ssl-passthrough", "--workers=1") as (zonal, _):
        assert await ask(zonal, "vault.test") == (200, "vault")
        assert await ask(zonal, "a.app.test") == (200, "vault"), "a wildcard passes, too"
        assert await ask(zonal, "web.app.test") == (200, "web"), "an exact name is stronger"
        assert await ask(zonal, "shop.test") == (200, "web")
        assert await ask(zonal, "shop.test", server_name="") == (200, "web"), "who names nobody gets the default"
        assert (await ask(zonal, "vault.test", server_name="shop.test"))[0] == 421
        assert (await ask(zonal, "vault.test", server_name=""))[0] == 421
        lines = [line for line in await zonal.logs(7) if line["protocol"] == "TLS"]
        assert [(line["host"], line["ingress"], line["status"]) for line in lines] == [
            ("vault.test", "vault", 200),
            ("a.app.test", "vault", 200),
        ]
        assert await zonal.findings() == []


async def test_plain_http_of_the_host_is_served_as_http(tmp_path: Path) -> None:
    async with serving(
        tmp_path, "--enable-ssl-passthrough", **{"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}
    ) as (zonal, _):
        assert await ask(zonal, "vault.test", tls=False) == (200, "vault")


async def test_without_the_option_nobody_gets_through(tmp_path: Path) -> None:
    async with serving(tmp_path) as (zonal, _):
        assert (await ask(zonal, "vault.test", server_name=""))[0] == 503
        assert (await ask(zonal, "vault.test", tls=False))[0] == 503
        (finding,) = await zonal.findings()
        assert "--enable-ssl-passthrough" in finding["message"]


async def test_an_annotation_that_goes_ends_the_passing(tmp_path: Path) -> None:
    async with serving(tmp_path, "--enable-ssl-passthrough") as (zonal, folder):
        assert await ask(zonal, "vault.test") == (200, "vault")
        generation = await zonal.generation()
        text = (folder.place / "all.json").read_text()
        folder.write_text("all.json", text.replace('ssl-passthrough": "true"', 'ssl-passthrough": "false"'))
        await zonal.reaches_generation(generation + 1, seconds=30.0)
        assert "relays" not in await zonal.model()
        assert (await ask(zonal, "vault.test", server_name=""))[0] == 502, "the endpoint wants TLS"

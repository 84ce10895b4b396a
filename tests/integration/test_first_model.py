"""Ready means ready: no client gets the default certificate where the folder or the cluster holds the right one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme

from tests.fakes.apiserver import ApiServer
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
from tests.integration.running import Zonal, running, until
from tests.integration.wire import Connection, trusting

HOST = "shop.test"
HANDSHAKES = 16
FALSE_FINDING = "CertificateUnusable"


class Placed:
    """An endpoint that no test asks."""

    service, zone, port = "cart", "zone-a", 9


class Shop:
    """An Ingress for `HOST` with a TLS Secret, and whom a client has to trust."""

    def __init__(self) -> None:
        self._authority = trustme.CA(key_type=trustme.KeyType.ECDSA)

    def secret(self, name: str, host: str) -> Document:
        issued = self._authority.issue_cert(host, key_type=trustme.KeyType.ECDSA)
        chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
        return tls_secret(name, chain=chain, key=issued.private_key_pem.bytes())

    @staticmethod
    def ingress(name: str, host: str) -> Document:
        return ingress(name, rule(host, path("/", "cart")), tls=[{"hosts": [host], "secretName": name}])

    def objects(self) -> Iterator[Document]:
        yield from (ingress_class(), service("cart"), endpoint_slice(Placed()), config_map(), self.secret("shop", HOST))
        yield self.ingress("shop", HOST)

    async def shake_hands(self, zonal: Zonal, host: str) -> None:
        """One handshake that verifies the certificate for `host`; ssl.SSLError if it is another."""
        context = trusting(self._authority.cert_pem.bytes())
        async with await Connection.open(zonal.https_port, tls=context, server_name=host):
            pass


async def _start_and_shake_hands(folder: Path) -> None:
    shop = Shop()
    ManifestFolder(folder).write("all.yaml", *shop.objects())
    async with running(folder, "--workers=2", "--time-scale=0.001") as zonal:
        await asyncio.gather(*(shop.shake_hands(zonal, HOST) for _ in range(HANDSHAKES)))
        assert await zonal.findings() == []
        assert FALSE_FINDING not in zonal.stderr


@pytest.mark.parametrize("_start", range(5))
async def test_no_handshake_after_ready_gets_the_default_certificate(tmp_path: Path, _start: int) -> None:
    await _start_and_shake_hands(tmp_path / "manifests")


@pytest.mark.slow
@pytest.mark.faults
async def test_no_handshake_after_ready_gets_the_default_certificate_in_fifty_starts(tmp_path: Path) -> None:
    for number in range(50):
        await _start_and_shake_hands(tmp_path / f"manifests-{number}")


@asynccontextmanager
async def _in_a_cluster(place: Path) -> AsyncIterator[tuple[Zonal, Shop, ApiServer]]:
    shop = Shop()
    async with ApiServer() as server:
        for document in shop.objects():
            server.put(document)
        kubeconfig = server.write_kubeconfig(place / "kubeconfig")
        arguments = ("--source=kubernetes", f"--kubeconfig={kubeconfig}", "--configmap=zonal/zonal")
        async with running(place / "unused", *arguments, "--update-status=false", "--time-scale=0.01") as zonal:
            yield zonal, shop, server


async def _shake_until_good(shop: Shop, zonal: Zonal, host: str) -> None:
    """Wait until the model has `host`, then every handshake must be good."""
    while True:
        model = (await zonal.model())["model"]
        if host in {each["name"] for each in model["hosts"]}:
            break
    await asyncio.gather(*(shop.shake_hands(zonal, host) for _ in range(HANDSHAKES)))
    assert FALSE_FINDING not in zonal.stderr


async def test_an_ingress_and_its_secret_saved_one_after_the_other_are_one_change(tmp_path: Path) -> None:
    shop, folder = Shop(), ManifestFolder(tmp_path / "manifests")
    folder.write("all.yaml", *shop.objects())
    async with running(tmp_path / "manifests", "--workers=2") as zonal:
        for number in range(3):
            host = f"added-{number}.test"
            folder.write(f"{number}-ingress.yaml", shop.ingress(f"added-{number}", host))
            folder.write(f"{number}-secret.yaml", shop.secret(f"added-{number}", host))
            await _shake_until_good(shop, zonal, host)


async def test_in_a_cluster_an_ingress_waits_for_its_secret(tmp_path: Path) -> None:
    async with _in_a_cluster(tmp_path) as (zonal, shop, server):
        await asyncio.gather(*(shop.shake_hands(zonal, HOST) for _ in range(HANDSHAKES)))
        for number in range(10):
            name, host = f"added-{number}", f"added-{number}.test"
            documents = [shop.ingress(name, host), shop.secret(name, host)]
            for document in documents if number % 2 else reversed(documents):
                server.put(document)
            await _shake_until_good(shop, zonal, host)
        await until(lambda: server.open_watches > 0, seconds=5.0)

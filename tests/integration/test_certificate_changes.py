"""Certificates that change, break, go and are many, while new handshakes never fail (faults T01 to T05)."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme

from ingress.findings import Finding
from ingress.settings.context import TranslationContext
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import Document, ingress, ingress_class, path, rule, service, tls_secret
from tests.integration.wire import Connection, trusting

pytestmark = [pytest.mark.faults, pytest.mark.alone]

Record = Callable[[str, object], None]

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
SHOP, OTHER = "shop.test", "other.test"


def pair(*names: str) -> tuple[bytes, bytes]:
    issued = AUTHORITY.issue_cert(*names, key_type=trustme.KeyType.ECDSA)
    return b"".join(part.bytes() for part in issued.cert_chain_pems), issued.private_key_pem.bytes()


PAIR, OTHER_PAIR = pair(SHOP), pair(OTHER)


def stored(name: str, of: tuple[bytes, bytes]) -> Document:
    return tls_secret(name, chain=of[0], key=of[1])


class Scene:
    """A data plane for two hosts with a certificate each."""

    def __init__(self, plane: DataPlane) -> None:
        self._plane = plane

    def serve(self, *secrets: Document) -> list[Finding]:
        hosts = {SHOP: "shop", OTHER: "other"}
        web = ingress(
            "web",
            *(rule(host, path("/", "cart")) for host in hosts),
            tls=[{"hosts": [host], "secretName": name} for host, name in hosts.items()],
        )
        findings = self._plane.serve((ingress_class(), service("cart"), web, *secrets), TranslationContext())
        return [finding for finding in findings if finding.reason == "CertificateUnusable"]

    async def names(self, host: str, *, trusted: bool = True) -> set[str]:
        """The names in the certificate for `host`; empty where it is of nobody whom the client trusts."""
        context = trusting(AUTHORITY.cert_pem.bytes() if trusted else None)
        context.check_hostname = False
        async with await Connection.open(self._plane.https_port, tls=context, server_name=host) as connection:
            return {name for _, name in connection.certificate.get("subjectAltName", ())}


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    async with data_plane() as plane:
        yield Scene(plane)


@pytest.mark.parametrize("count", [20, pytest.param(300, marks=pytest.mark.slow)])
async def test_t01_no_handshake_fails_while_a_certificate_is_replaced(count: int, record_property: Record) -> None:
    renewals = [pair(SHOP, f"renewal{number}.test") for number in range(count)]
    async with scene() as at:
        at.serve(stored("shop", PAIR), stored("other", OTHER_PAIR))
        shaken = 0
        done = asyncio.Event()

        async def shake_hands() -> None:
            nonlocal shaken
            while not done.is_set():
                assert SHOP in await at.names(SHOP)
                shaken += 1

        load = [asyncio.create_task(shake_hands()) for _ in range(4)]
        for number, renewal in enumerate(renewals):
            assert at.serve(stored("shop", renewal), stored("other", OTHER_PAIR)) == []
            assert await at.names(SHOP) == {SHOP, f"renewal{number}.test"}
        done.set()
        await asyncio.gather(*load)
        record_property("handshakes", shaken)
        assert shaken > len(renewals)


@pytest.mark.parametrize(
    "broken",
    [(b"no certificate", PAIR[1]), (PAIR[0], b"no key"), (PAIR[0], OTHER_PAIR[1])],
    ids=["garbage certificate", "garbage key", "key of another (T05)"],
)
async def test_t02_a_secret_that_breaks_keeps_its_last_good_certificate(broken: tuple[bytes, bytes]) -> None:
    async with scene() as at:
        at.serve(stored("shop", PAIR), stored("other", OTHER_PAIR))
        (finding,) = at.serve(stored("shop", broken), stored("other", OTHER_PAIR))
        assert "last certificate" in finding.effect
        assert (await at.names(SHOP), await at.names(OTHER)) == ({SHOP}, {OTHER})


async def test_t03_a_deleted_secret_leaves_the_default_certificate_and_the_other_hosts() -> None:
    async with scene() as at:
        at.serve(stored("shop", PAIR), stored("other", OTHER_PAIR))
        (finding,) = at.serve(stored("other", OTHER_PAIR))
        assert "default certificate" in finding.effect
        assert await at.names(OTHER) == {OTHER}
        assert await at.names(SHOP, trusted=False) == set()


async def test_t04_five_thousand_hosts_with_certificates_are_shaken_hands_with_as_quickly_as_one(
    record_property: Record,
) -> None:
    async def seconds(at: Scene) -> float:
        measured = []
        for _ in range(15):
            started = time.process_time()  # both sides of the handshake are in this process
            assert SHOP in await at.names(SHOP)
            measured.append(time.process_time() - started)
        return min(measured)

    async with data_plane() as plane:
        at = Scene(plane)
        at.serve(stored("shop", PAIR), stored("other", OTHER_PAIR))
        alone = await seconds(at)
        names = [f"host{number}.test" for number in range(5000)]
        wild, key = pair(SHOP, *names[:1], "*.test")
        many = ingress(
            "many",
            *(rule(host, path("/", "cart")) for host in (SHOP, *names)),
            tls=[{"hosts": [host], "secretName": f"s-{host}"} for host in (SHOP, *names)],
        )
        secrets = [tls_secret(f"s-{host}", chain=wild, key=key) for host in (SHOP, *names)]
        before = resident_bytes()
        findings = plane.serve((ingress_class(), service("cart"), many, *secrets), TranslationContext())
        assert not [finding for finding in findings if finding.reason == "CertificateUnusable"]
        record_property("MiB of memory more", (resident_bytes() - before) / 2**20)
        among_many = await seconds(at)
        record_property("least CPU seconds, one and many", (alone, among_many))
        # What grows with the number of certificates would be a thousand times slower.
        assert among_many < 5 * alone + 0.02


def resident_bytes() -> int:
    """Of this process (proc(5): statm counts pages)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

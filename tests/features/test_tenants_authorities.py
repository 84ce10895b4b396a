"""A tenant with many hosts and one large revocation list grows no worker, and its list counts for each of its hosts."""

from __future__ import annotations

import asyncio
import base64
import datetime
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from tests.fakes.stopwatch import Stopwatch
from tests.features.test_tenants_tls import MIB, MODEST, counted, folder_of, shakes_hands
from tests.integration.manifests import Document, ManifestFolder, ingress, path, rule, service, tls_secret
from tests.integration.processes import cpu_seconds, usage
from tests.integration.running import Zonal, running
from tests.integration.wire import Connection, trusting

SERVER = trustme.CA(key_type=trustme.KeyType.ECDSA)
CLIENTS = trustme.CA(key_type=trustme.KeyType.ECDSA)
HOSTS = [f"h{number}.greedy.test" for number in range(100)]
PLAIN = [f"p{number}.greedy.test" for number in range(100)]
ISSUED = SERVER.issue_cert("*.greedy.test", key_type=trustme.KeyType.ECDSA)
REVOKED, GOOD = (CLIENTS.issue_cert(f"{name}@greedy.test", key_type=trustme.KeyType.ECDSA) for name in "ab")
_SERIAL_BASE = 1 << 100  # long serial numbers, as authorities use them


def serial_of(issued: trustme.LeafCert) -> int:
    return x509.load_pem_x509_certificate(issued.cert_chain_pems[0].bytes()).serial_number


def revocations(*serials: int) -> bytes:
    now = datetime.datetime.now(datetime.UTC)
    issuer = x509.load_pem_x509_certificate(CLIENTS.cert_pem.bytes()).subject
    made = x509.CertificateRevocationListBuilder().issuer_name(issuer)
    made = made.last_update(now - datetime.timedelta(days=1)).next_update(now + datetime.timedelta(days=1))
    for serial in serials:
        revoked = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now)
        made = made.add_revoked_certificate(revoked.build())
    key = load_pem_private_key(CLIENTS.private_key_pem.bytes(), password=None)
    return made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)  # type: ignore[arg-type]


def authority(name: str, crl: bytes) -> Document:
    texts = {"ca.crt": CLIENTS.cert_pem.bytes(), "ca.crl": crl}
    data = {key: base64.b64encode(text).decode() for key, text in texts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "greedy"}, "data": data}


def guarded(name: str, secret: str, *hosts: str) -> Document:
    return ingress(
        name,
        *(rule(host, path("/", "app")) for host in hosts),
        namespace="greedy",
        tls=[{"hosts": list(hosts), "secretName": "t"}],
        annotations={"nginx.ingress.kubernetes.io/auth-tls-secret": f"greedy/{secret}"},
    )


def greedy(*documents: Document) -> list[Document]:
    chain = b"".join(part.bytes() for part in ISSUED.cert_chain_pems)
    plain = ingress(
        "plain",
        *(rule(host, path("/", "app")) for host in PLAIN),
        namespace="greedy",
        tls=[{"hosts": PLAIN, "secretName": "t"}],
    )
    secret = tls_secret("t", chain=chain, key=ISSUED.private_key_pem.bytes(), namespace="greedy")
    return [secret, service("app", namespace="greedy"), plain, *documents]


async def asked(zonal: Zonal, host: str, shown: trustme.LeafCert | None = None) -> int:
    """The status that a client gets; 503 means that its certificate was accepted, because nobody serves."""
    tls = trusting()
    if shown is not None:
        shown.configure_cert(tls)
    async with await Connection.open(zonal.https_port, tls=tls, server_name=host) as connection:
        return (await connection.get(host)).status


async def cost_of(zonal: Zonal, hosts: list[str]) -> float:
    """The CPU seconds that one handshake with each of `hosts` takes the process."""
    before = cpu_seconds(zonal.pid)
    for host in hosts:
        assert await asked(zonal, host) in (400, 503)
    return cpu_seconds(zonal.pid) - before


async def test_a_hundred_hosts_with_one_large_list_cost_about_one(tmp_path: Path) -> None:
    crl = revocations(*(_SERIAL_BASE + number for number in range(21_000)))
    assert len(crl) > 0.8 * MIB
    documents = greedy(authority("clients", crl), guarded("guarded", "clients", *HOSTS))
    async with running(folder_of(tmp_path, *documents), anew=True) as zonal:
        assert await shakes_hands(zonal, MODEST) == {MODEST}
        plain = await cost_of(zonal, PLAIN)
        before = usage(zonal.pid)
        asking = await cost_of(zonal, HOSTS)
        after = usage(zonal.pid)
        assert before is not None
        assert after is not None
        assert after.resident_bytes - before.resident_bytes < 48 * MIB  # it was 600 MiB
        assert asking < 2 * plain + 1.5  # it was 5 s more
        assert await shakes_hands(zonal, MODEST) == {MODEST}
        assert await counted(zonal, "zonal_tls_dear_handshakes", host=MODEST) == 0


async def test_the_authority_is_read_once_for_handshakes_that_come_together(tmp_path: Path) -> None:
    documents = greedy(authority("clients", revocations(serial_of(REVOKED))), guarded("guarded", "clients", *HOSTS))
    async with running(folder_of(tmp_path, *documents), anew=True) as zonal:
        shown = (GOOD, REVOKED, None)
        found = await asyncio.gather(*(asked(zonal, HOSTS[number], shown[number % 3]) for number in range(30)))
        assert found == [503, 400, 400] * 10


async def test_a_changed_list_counts_from_the_next_handshake_on(tmp_path: Path) -> None:
    place = folder_of(tmp_path, *greedy(authority("clients", revocations(1)), guarded("guarded", "clients", *HOSTS)))
    async with running(place, anew=True) as zonal:
        assert await asked(zonal, HOSTS[0], REVOKED) == 503
        changed = authority("clients", revocations(serial_of(REVOKED)))
        ManifestFolder(place).write("greedy.json", *greedy(changed, guarded("guarded", "clients", *HOSTS)))
        watch = Stopwatch()
        while await asked(zonal, HOSTS[1], REVOKED) != 400:
            assert watch.within(30)
        assert await asked(zonal, HOSTS[0], GOOD) == 503
        assert await asked(zonal, HOSTS[0], REVOKED) == 400


async def test_a_tenant_beyond_its_share_is_told_and_others_are_served(tmp_path: Path) -> None:
    crl = revocations(*(_SERIAL_BASE + number for number in range(21_000)))
    lists = [crl + f"# {number}\n".encode() for number in range(24)]
    place = folder_of(
        tmp_path,
        *greedy(*(guarded(f"guarded-{number:02}", f"clients-{number}", HOSTS[number]) for number in range(24))),
    )
    for number, text in enumerate(lists):
        ManifestFolder(place).write(f"list-{number}.json", authority(f"clients-{number}", text))
    async with running(place, anew=True) as zonal:
        refused = [each for each in await zonal.findings() if each["reason"] == "AuthoritiesExceedShare"]
        assert {each["namespace"] for each in refused} == {"greedy"}
        assert len(refused) == 24 - 16 * MIB // (len(lists[0]) + len(CLIENTS.cert_pem.bytes()))
        assert await shakes_hands(zonal, MODEST) == {MODEST}

"""A tenant's certificates, or clients who never finish handshakes, harm no handshake of another tenant."""

from __future__ import annotations

import ssl
from pathlib import Path

import trustme

from tests.fakes.clients import RawClient
from tests.fakes.stopwatch import Stopwatch
from tests.features.tenants.handshakes import Stalling, client_hello
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
from tests.integration.processes import usage
from tests.integration.running import Zonal, running, until
from tests.integration.wire import Connection, trusting
from tests.unit.ingress.translation.secrets.material.hostile import (
    Numbers,
    certificate,
    certificates,
    honest,
    rsa_info,
    rsa_text,
)

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
GREEDY, MODEST = "greedy.test", "modest.test"
GREEDY_CLIENT = "127.0.0.2"
SHOWN_TO_ENDPOINTS = {"backend-protocol": "HTTPS", "proxy-ssl-secret": "t"}
MIB = 1024 * 1024


def pair(host: str) -> tuple[bytes, bytes]:
    issued = AUTHORITY.issue_cert(host, key_type=trustme.KeyType.ECDSA)
    return issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes()


def tenant(name: str, host: str, chain: bytes, key: bytes) -> list[Document]:
    terms = [{"hosts": [host], "secretName": "t"}]
    return [
        tls_secret("t", chain=chain, key=key, namespace=name),
        service("app", namespace=name),
        ingress("web", rule(host, path("/", "app")), namespace=name, tls=terms),
    ]


def folder_of(place: Path, *greedy: Document, **settings: str) -> Path:
    """The manifests of a modest tenant with a host over TLS, and of a greedy one."""
    folder = ManifestFolder(place / "manifests")
    folder.write("class.yaml", ingress_class(), config_map(**settings))
    folder.write("modest.json", *tenant("modest", MODEST, *pair(MODEST)))
    folder.write("greedy.json", *greedy)
    return folder.place


async def shakes_hands(zonal: Zonal, host: str) -> set[str]:
    """The names in the certificate that a modest client is shown; nobody serves its request."""
    tls = trusting(AUTHORITY.cert_pem.bytes())
    async with await Connection.open(zonal.https_port, tls=tls, server_name=host) as connection:
        assert (await connection.get(host)).status == 503
        return {name for _, name in connection.certificate.get("subjectAltName", ())}


async def counted(zonal: Zonal, metric: str, **labels: str) -> float:
    samples = (await zonal.metrics())[metric].samples
    return sum(each.value for each in samples if labels.items() <= each.labels.items())


def hostile_keys() -> list[Numbers]:
    """Keys with the right modulus, one use of which would take seconds."""
    key = honest()
    return [
        key._replace(dp=key.dp + (key.p - 1) * (1 << 2_000_000), dq=key.dq + (key.q - 1) * (1 << 2_000_000)),
        key._replace(p=(1 << 202_000) + 1),
        key._replace(dp=key.dp + (key.p - 1) * (1 << 60_000)),
    ]


async def test_a_hostile_key_is_a_finding_and_costs_no_handshake_anything(tmp_path: Path) -> None:
    owner = certificates(certificate(rsa_info(honest().n)))
    keys = [rsa_text(each) for each in hostile_keys()]
    documents = [
        each for number, key in enumerate(keys) for each in tenant(f"g{number}", f"g{number}.test", owner, key)
    ]
    async with running(folder_of(tmp_path, *documents), anew=True) as zonal:
        findings = {each["message"] for each in await zonal.findings() if each["reason"] == "CertificateUnusable"}
        assert len(findings) == len(keys)
        with Stalling(zonal.https_port, "g0.test", address=GREEDY_CLIENT) as stalling:
            await stalling.begin(20)
            watch = Stopwatch()
            assert await shakes_hands(zonal, MODEST) == {MODEST}
            assert watch.within(10)  # one use of such a key took seconds, and 20 uses a minute


async def test_a_hostile_key_for_endpoints_closes_the_paths_of_its_own_tenant(tmp_path: Path) -> None:
    owner = certificates(certificate(rsa_info(honest().n)))
    said = {f"nginx.ingress.kubernetes.io/{name}": text for name, text in SHOWN_TO_ENDPOINTS.items()}
    greedy: list[Document] = []
    for number, key in enumerate(map(rsa_text, hostile_keys())):
        name = f"g{number}"
        web = ingress("web", rule(f"{name}.test", path("/", "app")), namespace=name, annotations=said)
        greedy += [tls_secret("t", chain=owner, key=key, namespace=name), service("app", namespace=name), web]
    async with running(folder_of(tmp_path, *greedy), anew=True) as zonal:
        denied = [each["namespace"] for each in await zonal.findings() if each["reason"] == "EndpointTlsDenied"]
        assert sorted(denied) == ["g0", "g1", "g2"]
        assert await shakes_hands(zonal, MODEST) == {MODEST}


async def test_no_client_chooses_a_group_that_costs_a_tenth_of_a_second(tmp_path: Path) -> None:
    async with running(folder_of(tmp_path), anew=True) as zonal, RawClient(zonal.https_port) as client:
        client.send(client_hello(MODEST, "ffdhe8192"))
        assert await client.reader.readexactly(1) == b"\x15", "an alert"
        assert await shakes_hands(zonal, MODEST) == {MODEST}


async def test_many_hellos_for_a_long_chain_hold_bounded_memory(tmp_path: Path) -> None:
    chain, key = pair(GREEDY)
    filling = certificates(*[certificate(rsa_info(honest().n), filling=15_000)] * 2)
    folder = folder_of(tmp_path, *tenant("greedy", GREEDY, chain + filling, key))
    async with running(folder, anew=True) as zonal:
        assert await shakes_hands(zonal, MODEST) == {MODEST}
        before = usage(zonal.pid)
        with Stalling(zonal.https_port, GREEDY, address=GREEDY_CLIENT) as stalling:
            await stalling.begin(400)
            await until(lambda: stalling.ended >= 150, seconds=30)
            assert await shakes_hands(zonal, MODEST) == {MODEST}
            after = usage(zonal.pid)
            assert before is not None
            assert after is not None
            assert after.resident_bytes - before.resident_bytes < 80 * MIB
            assert stalling.ended < 400
        assert await counted(zonal, "zonal_errors", kind="handshake_limit") >= 150


async def test_a_chain_of_hundreds_of_kilobytes_is_refused(tmp_path: Path) -> None:
    chain, key = pair(GREEDY)
    folder = folder_of(tmp_path, *tenant("greedy", GREEDY, chain * 1000, key))
    async with running(folder, anew=True) as zonal:
        (finding,) = [each for each in await zonal.findings() if each["reason"] == "CertificateUnusable"]
        assert "128 KiB" in finding["message"]
        assert await shakes_hands(zonal, MODEST) == {MODEST}


async def test_a_dear_handshake_is_counted_by_the_host_of_the_model(tmp_path: Path) -> None:
    both = (Path(__file__).parent / "tenants" / "rsa8192.pem").read_bytes()
    documents = tenant("greedy", "*.greedy.test", both, both)
    async with running(folder_of(tmp_path, *documents, max_rsa_key_bits="8192"), anew=True) as zonal:
        tls = trusting(AUTHORITY.cert_pem.bytes())
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        for name in ("a.greedy.test", "b.greedy.test"):
            async with await Connection.open(zonal.https_port, tls=tls, server_name=name) as connection:
                assert (await connection.get(name)).status == 503
        assert await shakes_hands(zonal, MODEST) == {MODEST}
        dear = (await zonal.metrics())["zonal_tls_dear_handshakes"].samples
        assert [(each.labels, each.value) for each in dear] == [({"host": "*.greedy.test"}, 2)]

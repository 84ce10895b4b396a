"""Client certificates over real sockets: what opens a host, and that the certificate of one host opens no other."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
from tests.integration.wire import Connection, Response, get, trusting

GUARDED, OTHER, OPEN = "guarded.test", "other.test", "open.test"
CONTEXT = TranslationContext(allow_local_endpoints=True)
SERVER, CLIENTS, OTHERS = trustme.CA(), trustme.CA(), trustme.CA()


def authority(name: str, issuer: trustme.CA) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "shop"},
        "data": {"ca.crt": base64.b64encode(issuer.cert_pem.bytes()).decode()},
    }


def guarded(host: str, secret: str, **annotations: str) -> Document:
    said = {"auth-tls-secret": f"shop/{secret}", **{key.replace("_", "-"): text for key, text in annotations.items()}}
    return ingress(
        host.replace("*.", "any-"),
        rule(host, path("/", "web")),
        tls=[{"hosts": [host], "secretName": "cert"}],
        annotations={f"nginx.ingress.kubernetes.io/{key}": text for key, text in said.items()},
    )


def certificate() -> Document:
    issued = SERVER.issue_cert(GUARDED, OTHER, OPEN, "*.wild.test")
    chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
    return tls_secret("cert", chain=chain, key=issued.private_key_pem.bytes())


CERTIFICATE = certificate()
WEB = ingress("open", rule(OPEN, path("/", "web")), tls=[{"hosts": [OPEN], "secretName": "cert"}])


@asynccontextmanager
async def serving(*documents: Document, **settings: str) -> AsyncIterator[tuple[DataPlane, EchoEndpoint]]:
    async with data_plane() as plane, echoing("web", {"zone-a": 1}) as (endpoint,):
        cluster = [ingress_class(), config_map(**settings), service("web"), endpoint_slice(endpoint), CERTIFICATE]
        plane.serve([*cluster, WEB, *documents], CONTEXT)
        yield plane, endpoint


def client(issuer: trustme.CA | None, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    context = trusting()
    context.maximum_version = version
    if issuer is not None:
        issuer.issue_cert("alice@shop.test", common_name="alice").configure_cert(context)
    return context


async def asked(port: int, name: str, host: str, issuer: trustme.CA | None, *fields: str) -> Response:
    async with await Connection.open(port, tls=client(issuer), server_name=name) as connection:
        return await connection.get(host, "/", *fields)


CLUSTER = (
    guarded(GUARDED, "clients"),
    guarded(OTHER, "others"),
    authority("clients", CLIENTS),
    authority("others", OTHERS),
)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_only_the_certificate_of_the_right_authority_opens_a_host(version: ssl.TLSVersion) -> None:
    async with serving(*CLUSTER) as (plane, endpoint):
        for issuer, expected in ((CLIENTS, 200), (OTHERS, 400), (None, 400)):
            tls = client(issuer, version)
            async with await Connection.open(plane.https_port, tls=tls, server_name=GUARDED) as connection:
                assert (await connection.get(GUARDED)).status == expected
                assert (await connection.get(GUARDED, "/again")).status == expected
        assert endpoint.requests == 2


@pytest.mark.parametrize(
    ("name", "host", "issuer"),
    [
        (OTHER, GUARDED, OTHERS),
        (GUARDED, OTHER, CLIENTS),
        (OPEN, GUARDED, CLIENTS),
        (OPEN, "GUARDED.test", CLIENTS),
        (OPEN, "guarded.test.", CLIENTS),
        (OPEN, "guarded.test:443", CLIENTS),
        ("unknown.test", GUARDED, CLIENTS),
        ("", GUARDED, CLIENTS),
    ],
)
async def test_the_handshake_of_one_host_opens_no_other(name: str, host: str, issuer: trustme.CA) -> None:
    async with serving(*CLUSTER) as (plane, endpoint):
        answer = await asked(plane.https_port, name, host, issuer)
        assert (answer.status, answer.ends_connection) == (421, True)
        assert endpoint.requests == 0


async def test_an_absolute_target_or_a_forwarded_host_opens_no_other_host() -> None:
    async with serving(*CLUSTER, use_forwarded_headers="true") as (plane, endpoint):
        async with await Connection.open(plane.https_port, tls=client(OTHERS), server_name=OTHER) as connection:
            answer = await connection.get(OTHER, f"https://{GUARDED}/")
            assert answer.status in (400, 421)
        forged = (f"X-Forwarded-Host: {OTHER}", "X-Forwarded-Proto: https", "ssl-client-verify: SUCCESS")
        assert (await asked(plane.https_port, OTHER, GUARDED, OTHERS, *forged)).status in (400, 421)
        assert (await get(plane.http_port, GUARDED, "/", *forged)).status in (308, 400)
        assert endpoint.requests == 0


async def test_an_open_host_needs_no_certificate_beside_a_guarded_one() -> None:
    async with serving(*CLUSTER) as (plane, _):
        assert (await asked(plane.https_port, OPEN, OPEN, None)).status == 200
        assert (await asked(plane.https_port, GUARDED, OPEN, None)).status == 200, "as in nginx"


async def test_the_endpoint_hears_of_the_certificate_and_nothing_that_the_client_forges() -> None:
    spellings = ("ssl-client-verify", "ssl_client_verify", "SSL-Client-Subject-DN", "ssl-client_cert")
    async with serving(*CLUSTER, enable_underscores_in_headers="true") as (plane, _):
        answer = await asked(plane.https_port, GUARDED, GUARDED, CLIENTS, *(f"{name}: forged" for name in spellings))
        told = {name.lower(): value for name, value in answer.json()["headers"] if "client" in name.lower()}
        assert told.keys() == {"ssl-client-verify", "ssl-client-subject-dn", "ssl-client-issuer-dn"}
        assert told["ssl-client-verify"] == "SUCCESS"
        assert told["ssl-client-subject-dn"].startswith("CN=alice,")


async def test_another_authority_counts_at_once_also_on_a_connection_that_is_kept() -> None:
    async with serving(*CLUSTER) as (plane, endpoint):
        async with await Connection.open(plane.https_port, tls=client(CLIENTS), server_name=GUARDED) as connection:
            assert (await connection.get(GUARDED)).status == 200
            cluster = [ingress_class(), config_map(), service("web"), endpoint_slice(endpoint), CERTIFICATE]
            plane.serve([*cluster, guarded(GUARDED, "clients"), authority("clients", OTHERS)], CONTEXT)
            answer = await connection.get(GUARDED)
            assert (answer.status, answer.ends_connection) == (421, True)
        assert (await asked(plane.https_port, GUARDED, GUARDED, CLIENTS)).status == 400
        assert (await asked(plane.https_port, GUARDED, GUARDED, OTHERS)).status == 200


async def test_a_wildcard_host_asks_each_of_its_names() -> None:
    async with serving(guarded("*.wild.test", "clients"), authority("clients", CLIENTS)) as (plane, _):
        port = plane.https_port
        assert (await asked(port, "a.wild.test", "a.wild.test", CLIENTS)).status == 200
        assert (await asked(port, "a.wild.test", "a.wild.test", None)).status == 400
        assert (await asked(port, "a.wild.test", "b.wild.test", CLIENTS)).status == 421


async def test_an_error_page_is_a_redirect() -> None:
    page = "https://help.test/certificates"
    documents = (guarded(GUARDED, "clients", auth_tls_error_page=page), authority("clients", CLIENTS))
    async with serving(*documents) as (plane, _):
        answer = await asked(plane.https_port, GUARDED, GUARDED, None)
        assert (answer.status, answer.field("location")) == (302, page)
        assert (await asked(plane.https_port, GUARDED, GUARDED, CLIENTS)).status == 200


async def test_a_missing_secret_closes_the_whole_host_and_no_other() -> None:
    neighbour = ingress("neighbour", rule(GUARDED, path("/free", "web")))
    async with serving(guarded(GUARDED, "missing"), neighbour) as (plane, endpoint):
        for target in ("/", "/free", "/free/x", "/nowhere"):
            async with await Connection.open(plane.https_port, tls=client(None), server_name=GUARDED) as connection:
                assert (await connection.get(GUARDED, target)).status == 503
        assert endpoint.requests == 0
        assert (await asked(plane.https_port, OPEN, OPEN, None)).status == 200


async def test_large_bodies_pass_through_a_handshake_that_asked() -> None:
    async with serving(*CLUSTER, proxy_body_size="0") as (plane, _):
        body = b"x" * 2_000_000
        head = f"POST / HTTP/1.1\r\nHost: {GUARDED}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        async with await Connection.open(plane.https_port, tls=client(CLIENTS), server_name=GUARDED) as connection:
            answer = await connection.send(head + body)
            assert answer.json()["body_bytes"] == len(body)

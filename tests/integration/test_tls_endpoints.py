"""TLS towards endpoints: nothing is sent to one that does not verify where verification was asked for (fault U22)."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from ingress.findings import Finding
from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import (
    NAMESPACE,
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.wire import Response, get

HOST = "shop.test"
NAME = "cart.internal"
AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
CLIENTS = trustme.CA(key_type=trustme.KeyType.ECDSA)
STRANGER = trustme.CA(key_type=trustme.KeyType.ECDSA)
CONTEXT = TranslationContext(allow_local_endpoints=True)
VERIFIED = {
    "backend-protocol": "HTTPS",
    "proxy-ssl-secret": f"{NAMESPACE}/ca",
    "proxy-ssl-verify": "on",
    "proxy-ssl-name": NAME,
}


def shown(*, authority: trustme.CA = AUTHORITY, name: str = NAME, expired: bool = False) -> ssl.SSLContext:
    """What an endpoint shows in a handshake."""
    yesterday = datetime.now(UTC) - timedelta(days=1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, not_after=yesterday if expired else None).configure_cert(context)
    return context


def secret(name: str, **data: bytes) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {key: base64.b64encode(text).decode() for key, text in data.items()},
    }


def pair_of(authority: trustme.CA) -> dict[str, bytes]:
    """What a Secret of type kubernetes.io/tls holds: a certificate for us, signed by `authority`."""
    issued = authority.issue_cert("zonal.internal")
    return {"tls.crt": issued.cert_chain_pems[0].bytes(), "tls.key": issued.private_key_pem.bytes()}


class Scene:
    """A data plane before one endpoint, under the annotations of the test."""

    def __init__(self, plane: DataPlane, endpoint: EchoEndpoint) -> None:
        self.plane = plane
        self.endpoint = endpoint

    def annotate(self, *others: Document, **annotations: str) -> tuple[Finding, ...]:
        """Serve with these annotations of ingress-nginx (`_` for `-`)."""
        named = {f"nginx.ingress.kubernetes.io/{key.replace('_', '-')}": text for key, text in annotations.items()}
        web = ingress("web", rule(HOST, path("/", "cart")), annotations=named)
        documents = (
            ingress_class(),
            config_map(),
            service("cart"),
            endpoint_slice(self.endpoint),
            web,
            secret("ca", **{"ca.crt": AUTHORITY.cert_pem.bytes()}),
            *others,
        )
        return self.plane.serve(documents, CONTEXT)

    async def get(self) -> Response:
        return await get(self.plane.http_port, HOST)


@asynccontextmanager
async def scene(tls: ssl.SSLContext | None) -> AsyncIterator[Scene]:
    endpoint = EchoEndpoint("cart", zone="zone-a")
    await endpoint.start(tls=tls)
    try:
        async with data_plane() as plane:
            yield Scene(plane, endpoint)
    finally:
        await endpoint.stop()


def underscored(annotations: dict[str, str]) -> dict[str, str]:
    return {key.replace("-", "_"): text for key, text in annotations.items()}


async def test_a_verified_endpoint_is_served_and_its_connection_kept() -> None:
    async with scene(shown()) as at:
        assert at.annotate(**underscored(VERIFIED)) == ()
        for _ in range(3):
            assert (await at.get()).status == 200
        assert len(at.endpoint.peers) == 1


@pytest.mark.faults
@pytest.mark.parametrize(
    "tls",
    [shown(expired=True), shown(name="other.internal"), shown(authority=STRANGER)],
    ids=["expired", "wrong name", "unknown authority"],
)
async def test_an_endpoint_that_does_not_verify_gets_no_request(tls: ssl.SSLContext) -> None:
    async with scene(tls) as at:
        at.annotate(**underscored(VERIFIED))
        assert [(await at.get()).status for _ in range(4)] == [502] * 4
        assert at.endpoint.requests == 0
        at.annotate(backend_protocol="HTTPS")
        assert (await at.get()).status == 200


async def test_a_connection_that_was_not_verified_is_not_used_where_verification_is_asked_for() -> None:
    async with scene(shown(authority=STRANGER)) as at:
        at.annotate(backend_protocol="https")
        assert (await at.get()).status == 200
        at.annotate(**underscored(VERIFIED))
        assert (await at.get()).status == 502
        assert at.endpoint.requests == 1


async def test_a_connection_verified_by_old_roots_is_not_used_after_the_secret_is_renewed() -> None:
    asked = underscored({**VERIFIED, "proxy-ssl-secret": f"{NAMESPACE}/roots"})
    async with scene(shown()) as at:
        for authority, status in ((AUTHORITY, 200), (STRANGER, 502), (AUTHORITY, 200)):
            assert at.annotate(secret("roots", **{"ca.crt": authority.cert_pem.bytes()}), **asked) == ()
            assert (await at.get()).status == status
        assert at.endpoint.requests == 2


async def test_two_ways_to_one_service_port_never_share_a_connection() -> None:
    """Served at the same time: what one path does not verify opens nothing for the path that verifies."""
    async with scene(shown(authority=STRANGER)) as at:
        verified = {f"nginx.ingress.kubernetes.io/{name}": text for name, text in VERIFIED.items()}
        careful = ingress("careful", rule(HOST, path("/careful", "cart")), annotations=verified)
        assert at.annotate(careful, backend_protocol="HTTPS") == ()
        for _ in range(2):
            assert (await at.get()).status == 200
            assert (await get(at.plane.http_port, HOST, "/careful")).status == 502
        assert (at.endpoint.requests, len(at.endpoint.peers)) == (2, 1)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({}, 502),
        (pair_of(AUTHORITY), 502),
        (pair_of(CLIENTS), 200),
        (pair_of(CLIENTS) | {"ca.crt": AUTHORITY.cert_pem.bytes()}, 200),
    ],
    ids=["no certificate", "a stranger's", "the right one", "the right one beside roots"],
)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_an_endpoint_that_asks_for_a_client_certificate_gets_that_of_the_secret(
    data: dict[str, bytes], status: int, version: ssl.TLSVersion
) -> None:
    asks = shown()
    asks.verify_mode = ssl.CERT_REQUIRED
    asks.maximum_version = version
    CLIENTS.configure_trust(asks)
    async with scene(asks) as at:
        held = secret("pair", **(data or {"ca.crt": AUTHORITY.cert_pem.bytes()}))
        assert at.annotate(held, backend_protocol="HTTPS", proxy_ssl_secret=f"{NAMESPACE}/pair") == ()
        assert (await at.get()).status == status
        assert at.endpoint.requests == (status == 200)


async def test_plain_and_tls_do_not_mix() -> None:
    async with scene(None) as at:
        at.annotate(backend_protocol="HTTPS")
        assert (await at.get()).status == 502
        at.annotate(backend_protocol="HTTP")
        assert (await at.get()).status == 200


@pytest.mark.parametrize(
    "annotations",
    [{"proxy-ssl-secret": f"{NAMESPACE}/missing"}, {"proxy-ssl-secret": "other/ca"}, {"proxy-ssl-verify": "on"}],
)
async def test_what_cannot_be_verified_as_asked_is_not_served(annotations: dict[str, str]) -> None:
    async with scene(shown()) as at:
        (finding,) = at.annotate(backend_protocol="HTTPS", **underscored(annotations))
        assert finding.reason == "EndpointTlsDenied"
        assert (await at.get()).status == 503
        assert at.endpoint.requests == 0


async def test_the_virtual_host_is_what_the_endpoint_gets_as_host() -> None:
    async with scene(None) as at:
        assert at.annotate(upstream_vhost="inner.test:8080") == ()
        fields = {name.lower(): value for name, value in (await at.get()).json()["headers"]}
        assert (fields["host"], fields["x-forwarded-host"]) == ("inner.test:8080", HOST)


@pytest.mark.parametrize(("verify", "status"), [("on", 502), ("off", 200)])
async def test_a_name_that_dns_cannot_have_is_a_finding_and_every_request_has_its_answer(
    verify: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The codec for host names raises an error of its own for a label of 64 letters."""
    said = {**VERIFIED, "proxy-ssl-verify": verify, "proxy-ssl-server-name": "on", "proxy-ssl-name": "a" * 64 + ".test"}
    async with scene(shown()) as at:
        (finding,) = at.annotate(**underscored(said))
        assert "proxy-ssl-name" in finding.message
        assert [(await at.get()).status for _ in range(3)] == [status] * 3
    assert caplog.records == []


@pytest.mark.parametrize("where", ["annotation", "setting"])
async def test_the_service_itself_may_be_the_endpoint(where: str) -> None:
    async with scene(None) as at:
        cart = service("cart", port=at.endpoint.port)
        cart["spec"]["clusterIP"] = "127.0.0.1"
        lead = ingress("lead", rule("lead.test", path("/", "cart")))
        lead["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]["number"] = at.endpoint.port
        annotated = {"nginx.ingress.kubernetes.io/service-upstream": "true"} if where == "annotation" else {}
        lead["metadata"]["annotations"] = annotated
        setting = config_map(service_upstream="true") if where == "setting" else config_map()
        findings = at.plane.serve((ingress_class(), cart, lead, setting), CONTEXT)
        assert findings == ()
        assert (await get(at.plane.http_port, "lead.test")).status == 200

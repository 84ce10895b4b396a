"""What stands behind the admin port in its tests: an ingress in whatever state a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

import msgspec

from balancer.explain.drafts import complete
from balancer.explain.explaining import explain
from balancer.explain.explanations import Explanation
from balancer.live import LiveTable
from balancer.model.certificates import Authority, Certificate, ClientCertificate
from balancer.model.endpoints import Backend, BackendKey, Endpoint, EndpointTls, HealthCheck
from balancer.model.policies import Affinity
from balancer.model.publication import Publication, RoutingModel
from balancer.model.routes import Host
from balancer.model.zones import OwnZone, Zone, ZonePolicy, ZonePolicyName
from balancer.workers.fleet import NoAnswer
from ingress.admin.overview.viewers import TooManyViewers, Viewer
from ingress.admin.pages import Document, model_document
from tests import builders as build
from tests.questions import question_of
from tests.unit.balancer.asked import Told

FINDING = {
    "kind": "Ingress",
    "namespace": "shop",
    "name": "shop-ingress",
    "reason": "bad_path",
    "message": "path must be absolute",
    "effect": "the path is not served",
}

CERTIFICATE = Certificate(
    key="shop/tls",
    chain_pem=b"-----BEGIN CERTIFICATE-----\nchain-bytes\n-----END CERTIFICATE-----\n",
    private_key_pem=b"-----BEGIN PRIVATE KEY-----\nkey-bytes\n-----END PRIVATE KEY-----\n",
    expires_at_epoch_seconds=1.9e9,
)
MODEL = RoutingModel(
    hosts=(
        Host(
            name="shop.example.com",
            routes=(
                build.route(
                    to="shop/catalog:80",
                    ingress="shop-ingress",
                    zone_policy=ZonePolicy(ZonePolicyName.PREFER_ZONE),
                    canaries=[build.canary()],
                    affinity=Affinity(),
                ),
            ),
            certificate="shop/tls",
        ),
    ),
    backends=(
        Backend(
            key=BackendKey("shop/catalog:80"),
            namespace="shop",
            service="catalog",
            port="80",
            endpoints=(Endpoint("10.0.0.1", 8080, zone=Zone("zone-a")),),
            tls=EndpointTls(authority="shop/ca", client_certificate="shop/ca"),
            health_check=HealthCheck("/healthz"),
        ),
    ),
    certificates=(CERTIFICATE,),
    authorities=(Authority("shop/ca", CERTIFICATE.chain_pem),),
    client_certificates=(ClientCertificate("shop/ca", CERTIFICATE.chain_pem, CERTIFICATE.private_key_pem),),
    own_zone=OwnZone(zone=Zone("zone-a"), source="flag"),
)


UNWELL = {"backend": "shop/catalog:80", "endpoint": "10.0.0.1:8080", "state": "ejected", "workers": 2}


PART_BYTES = 32 * 1024


class Source:
    """An ingress that is in whatever state a test says."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.page = b"zonal_build_info 1\n"
        self.may_tell = asyncio.Event()
        self.may_tell.set()
        self.asked = 0

    def readiness(self) -> str | None:
        return self.reason

    async def metrics(self) -> list[bytes]:
        self.asked += 1
        await self.may_tell.wait()
        return [self.page[begin : begin + PART_BYTES] for begin in range(0, len(self.page), PART_BYTES)]

    def model(self) -> Document:
        return model_document(MODEL)

    async def health(self) -> list[Document]:
        return [UNWELL]

    def findings(self) -> list[Document]:
        return [FINDING]

    def statuses(self) -> list[Document]:
        return [{"kind": "Gateway", "namespace": "infra", "name": "gw", "status": {}}]

    async def explain(self, url: str, fields: Sequence[str], *, client: str) -> Explanation:
        if url == "http://nobody.test/":
            raise NoAnswer("no worker")
        live = LiveTable(lambda below: 0)
        live.swap(Publication(1, MODEL))
        return complete(explain(question_of(url, fields, client=client), live.view, now=0.0, live=True), Told())


class Overview:
    """An overview that says what it was asked for."""

    async def document(self, parts: Collection[str], *, service: tuple[str, str] | None = None) -> bytes:
        return msgspec.json.encode({"parts": sorted(parts), "service": service})

    async def join(self, cut_off: Callable[[], None]) -> Viewer:
        raise TooManyViewers

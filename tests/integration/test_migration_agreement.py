"""`zonal check` agrees, verdict by verdict, with what is then observed over sockets.

The same objects are checked as a dump and served by a data plane. Every place that an Ingress claims is asked once. Who
answers must fit the verdict, and the verdict must fit who answers.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from ingress.migration.checking import check_dump
from ingress.migration.verdicts import IngressOutcome, Review
from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import Document, ManifestFolder, endpoint_slice, ingress_class, service
from tests.integration.nginx_dump import IDLE, NAMESPACES, PREFIX, SERVICES, config_map, generated, secrets_of
from tests.integration.test_migration import CASES, documents, services_of
from tests.integration.wire import get

CONTEXT = TranslationContext(
    ingress_class="nginx", configmap="ingress-nginx/ingress-nginx-controller", allow_local_endpoints=True
)
CLOSED, MISROUTED = IngressOutcome.CLOSED, IngressOutcome.MISROUTED
GENERATED = 140
SEEDS = (1, 2026)

ANSWERS = {
    "permanent-redirect": {301, 308},
    "temporal-redirect": {302, 307},
    "app-root": {302},
    "force-ssl-redirect": {308},
    "from-to-www-redirect": {308},
    "whitelist-source-range": {403},
    "allowlist-source-range": {403},
    "denylist-source-range": {403},
    "auth-type": {401},
    "auth-url": {302, 401, 403, 500},
    "auth-tls-secret": {400, 403},
    "backend-protocol": {502},
}
"""What an annotation may make of a request that its Ingress serves, beside the answer of the Service."""

HOST_WIDE = {"app-root", "auth-tls-secret", "from-to-www-redirect"}
"""Annotations that hold for every path of a host, whichever Ingress has them."""

EXPRESSION_PARTS = (("(/|$)(.*)", "/x"), (r"[0-9]+", "1"), (r"\d+", "1"), ("(.*)", "x"), ("(.+)", "x"), (".*", "x"))


class Place(NamedTuple):
    """A host and target that an Ingress claims, the Service that it names, and the field that chooses a canary."""

    host: str
    target: str
    service: str
    fields: tuple[str, ...]


def places_of(ingress: Document) -> Iterator[Place]:
    annotations = ingress["metadata"].get("annotations") or {}
    header = annotations.get(f"{PREFIX}canary-by-header")
    for each in ingress["spec"]["rules"]:
        for claimed in each["http"]["paths"]:
            fields = (f"{header}: always",) if header else ()
            target = target_of(claimed["path"])
            yield Place(each["host"].replace("*", "x"), target, claimed["backend"]["service"]["name"], fields)


def target_of(path: str) -> str:
    """A target that the path matches, whether it is an expression or not."""
    for part, text in EXPRESSION_PARTS:
        path = path.replace(part, text)
    return re.sub(r"\(\?[a-z:]*|[\\^$()?]|\|[^/]*", "", path)


def allowed(ingress: Document, others: Iterable[Document]) -> set[int]:
    """What annotations may make of requests for the Ingress: its own, and those of others that hold for the host.

    A canary is served as its main Ingress asks.
    """
    hosts = {rule["host"] for rule in ingress["spec"]["rules"]}
    beside = {
        name for each in others for name in named_by(each) if hosts & {rule["host"] for rule in each["spec"]["rules"]}
    }
    own = named_by(ingress)
    names = own | (beside if "canary" in own else beside & HOST_WIDE)
    return {status for name in names for status in ANSWERS.get(name, ())}


def named_by(ingress: Document) -> set[str]:
    return {name.removeprefix(PREFIX) for name in ingress["metadata"].get("annotations") or {}}


class Observed(NamedTuple):
    """What the places of one Ingress answered: some closed, and some by a Service that it does not name.

    `idle`: a place of a Service without endpoints answered 503, as it does with ingress-nginx.
    """

    closed: bool
    idle: bool
    misrouted: bool
    answers: list[str]


async def observed(plane: DataPlane, ingress: Document, *, fitting: set[int]) -> Observed:
    """Asks every place once. `fitting` are the statuses that annotations may make of a request that is served."""
    closed, idle, misrouted, answers = False, False, False, []
    # The endpoints speak HTTP/1.1 only, and this Service may answer in place of the 502 that comes of it.
    error_pages = (
        (ingress["metadata"].get("annotations") or {}).get(f"{PREFIX}default-backend") if 502 in fitting else None
    )
    for host, target, named, fields in places_of(ingress):
        answer = await get(plane.http_port, host, target, *fields)
        who = str(answer.json()["service"]) if answer.status == 200 else str(answer.status)
        answers.append(f"{host}{target}: {who}, {named} is named")
        closed |= answer.status == 503 and named != IDLE
        idle |= answer.status == 503 and named == IDLE
        if answer.status not in {200, 503}:
            assert answer.status in fitting, f"{ingress['metadata']['name']}: {answers[-1]}"
        misrouted |= answer.status == 200 and who not in (named, error_pages)
    return Observed(closed, idle, misrouted, answers)


@asynccontextmanager
async def served(objects: list[Document]) -> AsyncIterator[tuple[DataPlane, list[Document]]]:
    """A data plane that serves the objects, and the objects with an endpoint for each Service."""
    named = sorted({*services_of(each for each in objects if each["kind"] == "Ingress"), *SERVICES})
    async with data_plane() as plane, AsyncExitStack() as stack:
        busy = [name for name in named if name != IDLE]
        endpoints = [each for name in busy for each in await stack.enter_async_context(echoing(name, {"zone-a": 1}))]
        cluster = [*objects, ingress_class("nginx")]
        for namespace in NAMESPACES:
            cluster += [service(name, namespace=namespace) for name in named]
            cluster += [endpoint_slice(endpoint, namespace=namespace) for endpoint in endpoints]
        plane.serve(cluster, CONTEXT)
        yield plane, cluster


def checked(place: Path, cluster: Iterable[Document]) -> Review:
    ManifestFolder(place).write("dump.json", *cluster)
    return check_dump(place, CONTEXT, now_epoch_seconds=0.0)


async def disagreements(place: Path, objects: list[Document]) -> list[str]:
    """One line for each Ingress whose verdict does not fit what its places answer."""
    found = []
    async with served(objects) as (plane, cluster):
        verdicts = {each.full_name: each.verdict for each in checked(place, cluster).ingresses}
        ingresses = [each for each in objects if each["kind"] == "Ingress"]
        assert len(verdicts) == len(ingresses)
        for each in ingresses:
            name = f"{each['metadata']['namespace']}/{each['metadata']['name']}"
            verdict, seen = verdicts[name], await observed(plane, each, fitting=allowed(each, ingresses))
            fits = {CLOSED: seen.closed or seen.idle, MISROUTED: seen.misrouted and not seen.closed}
            if not fits.get(verdict, not (seen.closed or seen.misrouted)):
                found.append(f"{name} is {verdict.value}: {seen.answers} {each['metadata'].get('annotations')}")
    return found


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.yaml") if path.stem != "configmap"))
async def test_the_check_of_a_manifest_says_what_is_observed(tmp_path: Path, name: str) -> None:
    ingresses = documents(name)
    assert await disagreements(tmp_path, [*ingresses, *secrets_of(ingresses), config_map()]) == []


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_check_of_a_large_dump_says_what_is_observed(tmp_path: Path, seed: int) -> None:
    assert await disagreements(tmp_path, generated(seed, GENERATED)) == []


def test_a_dump_is_made_of_its_seed_and_has_as_many_ingresses_as_wanted() -> None:
    def ingresses(seed: int) -> list[Document]:
        return [each for each in generated(seed, GENERATED) if each["kind"] == "Ingress"]

    assert len(ingresses(1)) == GENERATED
    assert ingresses(1) == ingresses(1)
    assert ingresses(1) != ingresses(2)

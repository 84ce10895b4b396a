"""Events become publications: none too early, one for a burst, none without a difference."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
import trustme

from balancer.model.publication import Publication
from ingress.findings import Finding, Severity
from ingress.following.controller import Controller, ModelPatience
from ingress.following.holdoff import QUIET_SECONDS
from ingress.following.publishing import Published
from ingress.objects.kinds import ConfigMap, IngressTls, Kind, KubernetesObject, Metadata, Secret
from ingress.settings.context import TranslationContext
from ingress.sources.contract import Wanted
from ingress.sources.events import Event, Removed, Replaced, SourceFindings, Upserted
from ingress.sources.inventory import REQUIRED_KINDS
from ingress.translation.assembly import Translation, translate
from tests.fakes.sockets import until
from tests.unit.ingress.cluster import (
    backend,
    config_map,
    endpoint,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
    tls_secret,
)


class Scene:
    """A controller, the source it follows, and what came out."""

    def __init__(
        self,
        *events: Event,
        patience: ModelPatience = ModelPatience(),  # noqa: B008 (immutable)
        judged_most: int = 256,
    ) -> None:
        self.served: list[Publication] = []
        self.wanted: list[Wanted] = []
        self.settled = True
        self.source: asyncio.Queue[Event | Exception | None] = asyncio.Queue()
        for event in events:
            self.tell(event)
        self.published = Published(self.served.append)
        self.told: list[tuple[Finding, ...]] = []
        self.controller = Controller(
            self,
            context=TranslationContext(),
            published=self.published,
            on_findings=self.told.append,
            patience=patience,
            judged_most=judged_most,
        )

    def tell(self, event: Event | Exception | None) -> None:
        """What the source says next; None: no more."""
        self.source.put_nowait(event)

    async def run(self) -> None:
        """Start, and follow the source to its end."""
        self.tell(None)
        await self.controller.start()
        async with asyncio.timeout(30):
            await self.controller.run()

    def want(self, wanted: Wanted) -> bool:
        """The source's side: what the controller wants, and whether that has been delivered."""
        self.wanted.append(wanted)
        return self.settled

    async def events(self) -> AsyncGenerator[Event, None]:
        """The source's side."""
        while (event := await self.source.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event


def lists(*objects: KubernetesObject) -> list[Replaced]:
    """The full list of every kind."""
    everything = (ingress_class(), config_map(), service(), endpoint_slice(), *objects)
    return [Replaced(kind, tuple(item for item in everything if item.kind is kind)) for kind in Kind]


def _certificate(name: str, host: str) -> Secret:
    issued = trustme.CA(key_type=trustme.KeyType.ECDSA).issue_cert(host, key_type=trustme.KeyType.ECDSA)
    return tls_secret(name, b"".join(part.bytes() for part in issued.cert_chain_pems), issued.private_key_pem.bytes())


def hosts(publication: Publication) -> list[str]:
    return [host.name for host in publication.model.hosts]


async def test_the_whole_cluster_is_published_once() -> None:
    scene = Scene(*lists(ingress("web", rule("shop.test"))))
    await scene.run()
    (publication,) = scene.served
    assert publication.generation == 1
    assert hosts(publication) == ["shop.test"]


@pytest.mark.parametrize("missing", [kind for kind in Kind if kind in REQUIRED_KINDS])
async def test_nothing_is_published_while_a_required_kind_is_not_known(missing: Kind) -> None:
    scene = Scene(*(event for event in lists(ingress()) if event.kind is not missing))
    await scene.run()
    assert scene.served == []


async def _start_and_run(scene: Scene) -> None:
    await scene.controller.start()
    await scene.controller.run()


async def test_an_empty_cluster_is_published_too() -> None:
    scene = Scene(*(Replaced(kind, ()) for kind in Kind))
    await scene.run()
    assert [hosts(publication) for publication in scene.served] == [[]]


async def test_a_burst_is_one_publication() -> None:
    burst = (Upserted(ingress(f"web-{number}", rule(f"{number}.test"))) for number in range(50))
    scene = Scene(*lists(), *burst)
    began = time.monotonic()
    await scene.run()
    seconds = time.monotonic() - began
    # One, unless this process was kept from running for as long as a burst must be quiet.
    assert 1 <= len(scene.served) <= max(1.0, seconds / QUIET_SECONDS)
    assert len(hosts(scene.served[-1])) == 50


async def test_findings_are_told_after_each_translation_unless_only_endpoints_have_changed() -> None:
    scene = Scene(*lists(ingress("web", rule("shop.test"))))
    following = asyncio.create_task(_start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(Upserted(endpoint_slice("one", endpoint("10.0.0.9"))))
    await _until_served(scene, 2)
    assert scene.told == [()]
    scene.tell(Upserted(ingress("blog", rule("blog.test"))))
    await _until_served(scene, 3)
    scene.tell(None)
    await asyncio.wait([following])
    assert scene.told == [(), ()]


async def test_changes_apart_are_publications_apart() -> None:
    scene = Scene(*lists(ingress("web", rule("shop.test"))))
    following = asyncio.create_task(_start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(Upserted(ingress("blog", rule("blog.test"))))
    await _until_served(scene, 2)
    scene.tell(Removed(Kind.INGRESS, "shop", "web"))
    await _until_served(scene, 3)
    scene.tell(None)
    await following
    assert list(map(hosts, scene.served)) == [["shop.test"], ["blog.test", "shop.test"], ["blog.test"]]


async def _until_served(scene: Scene, count: int) -> None:
    async with asyncio.timeout(30):
        while len(scene.served) < count:  # noqa: ASYNC110 (`serve` is a plain function: there is nothing to wait on)
            await asyncio.sleep(0.005)


async def test_an_event_that_changes_nothing_publishes_nothing() -> None:
    web = ingress("web", rule("shop.test"))
    scene = Scene(*lists(web), Upserted(web), *lists(web))
    await scene.run()
    assert len(scene.served) == 1


async def test_what_stops_the_source_at_its_start_is_raised() -> None:
    scene = Scene()
    scene.tell(OSError("no such folder"))
    with pytest.raises(OSError, match="no such folder"):
        await scene.controller.start()


async def test_what_stops_the_source_later_is_raised_and_the_last_model_stays() -> None:
    scene = Scene(*lists(ingress("web", rule("shop.test"))))
    following = asyncio.create_task(_start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(OSError("gone"))
    with pytest.raises(OSError, match="gone"):
        await following
    assert scene.published.publication == scene.served[0]


async def test_each_new_finding_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    broken = ingress("broken", rule("1.2.3.4"))
    scene = Scene(*lists(broken))
    following = asyncio.create_task(_start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(Upserted(ingress("web", rule("shop.test"))))
    await _until_served(scene, 2)
    scene.tell(None)
    await following
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert warnings[0].startswith("closed: Ingress shop/broken: InvalidIngress: ")
    infos = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert len(infos) == 2
    assert infos[-1].startswith("published 1 hosts, 1 backends, own zone unknown, in ")


async def test_a_model_waits_for_what_it_takes_and_is_published_when_that_has_come() -> None:
    tls = IngressTls(("shop.test",), "cert")
    scene = Scene(*lists(ingress("web", rule("shop.test"), tls=[tls])))
    scene.settled = False
    following = asyncio.create_task(_start_and_run(scene))
    async with asyncio.timeout(30):
        while not scene.wanted:  # noqa: ASYNC110 (`want` is a plain function: there is nothing to wait on)
            await asyncio.sleep(0.005)
    assert scene.served == []
    assert scene.wanted[-1].secrets == {("shop", "cert")}
    scene.settled = True
    scene.tell(SourceFindings("test", ()))
    await _until_served(scene, 1)
    scene.tell(None)
    await following


async def test_an_answer_that_comes_during_the_translation_is_part_of_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tls = IngressTls(("shop.test",), "cert")
    scene = Scene(*lists(ingress("web", rule("shop.test"), tls=[tls])))
    scene.settled = False
    loop, translations = asyncio.get_running_loop(), itertools.count()

    async def answer() -> None:
        scene.settled = True
        scene.tell(Upserted(_certificate("cert", "shop.test")))
        while not scene.source.empty():  # noqa: ASYNC110 (what takes the event is the code under test)
            await asyncio.sleep(0)

    def translate_while_the_answer_comes(*arguments: Any, **options: Any) -> Translation:
        translation = translate(*arguments, **options)
        if next(translations) == 0:
            asyncio.run_coroutine_threadsafe(answer(), loop).result(10)
        return translation

    monkeypatch.setattr("ingress.following.controller.translate", translate_while_the_answer_comes)
    following = asyncio.create_task(_start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(None)
    await following
    assert [certificate.key for certificate in scene.served[0].model.certificates] == ["shop/cert"]
    assert scene.told == [()]


async def test_a_model_that_wants_nothing_new_is_published_at_once() -> None:
    scene = Scene(*lists(ingress("web", rule("shop.test"))), patience=ModelPatience(seconds=3600.0))
    following = asyncio.create_task(_start_and_run(scene))
    await _until_served(scene, 1)
    scene.settled = False
    scene.tell(Upserted(ingress("blog", rule("blog.test"))))
    await _until_served(scene, 2)
    scene.tell(None)
    await following


async def test_a_model_does_not_wait_for_ever() -> None:
    scene = Scene(*lists(ingress("web", rule("shop.test"))), patience=ModelPatience(first_seconds=0.1))
    scene.settled = False
    following = asyncio.create_task(_start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(None)
    await following


async def test_a_change_of_slices_only_keeps_the_routes() -> None:
    scene = Scene(*lists(ingress("web", rule("shop.test"))))
    following = asyncio.create_task(_start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(Upserted(endpoint_slice("cart-1", endpoint("10.0.0.9"))))
    await _until_served(scene, 2)
    scene.tell(None)
    await following
    first, second = (publication.model for publication in scene.served)
    assert second.hosts is first.hosts
    assert [item.address for item in second.backends[0].endpoints] == ["10.0.0.9"]


async def test_endpoints_of_many_services_are_no_whole_translation_either() -> None:
    names = [f"app-{number}" for number in range(100)]
    cluster: list[KubernetesObject] = [
        *(service(name) for name in names),
        *(endpoint_slice(name, endpoint("10.0.0.1"), of=name) for name in names),
        ingress("web", rule("shop.test", *(path(f"/{name}", to=backend(name)) for name in names))),
    ]
    scene = Scene(*lists(*cluster))
    following = asyncio.create_task(_start_and_run(scene))
    await _until_served(scene, 1)
    for name in names:
        scene.tell(Upserted(endpoint_slice(name, endpoint("10.0.0.2"), of=name)))
    await _until_served(scene, 2)
    scene.tell(None)
    await following
    first, *_, last = (publication.model for publication in scene.served)
    assert last.hosts is first.hosts
    assert {item.address for changed in last.backends for item in changed.endpoints} == {"10.0.0.2"}


async def test_a_translation_that_fails_leaves_the_last_model_and_the_next_change_is_published(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # No cluster is known whose content makes translate() raise, so this source says what no real one could: a ConfigMap
    # with data that is none.
    impossible = ConfigMap(Metadata("zonal", "zonal"), cast("dict[str, str]", None))
    scene = Scene(*lists(ingress("web", rule("shop.test"))))
    following = asyncio.create_task(_start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(Upserted(impossible))
    await _until_told(caplog, "a translation failed; the last model stays")
    assert scene.published.publication == scene.served[-1]
    assert not following.done()
    scene.tell(Removed(Kind.CONFIG_MAP, "zonal", "zonal"))
    scene.tell(Upserted(ingress("blog", rule("blog.test"))))
    await _until_served(scene, 2)
    scene.tell(None)
    await following
    assert list(map(hosts, scene.served)) == [["shop.test"], ["blog.test", "shop.test"]]


async def _until_told(caplog: pytest.LogCaptureFixture, message: str) -> None:
    async with asyncio.timeout(30):
        while message not in caplog.messages:  # noqa: ASYNC110 (a log has nothing to wait on)
            await asyncio.sleep(0.005)


def _pair(host: str) -> tuple[bytes, bytes]:
    issued = trustme.CA(key_type=trustme.KeyType.ECDSA).issue_cert(host, key_type=trustme.KeyType.ECDSA)
    return b"".join(part.bytes() for part in issued.cert_chain_pems), issued.private_key_pem.bytes()


async def test_a_new_key_of_a_modest_namespace_waits_for_no_thousand_of_another() -> None:
    greedy, renewed, modest, own = _pair("*.greedy.test"), _pair("*.greedy.test"), _pair("m.test"), _pair("m.test")
    names = [f"t{number:02}" for number in range(20)]
    tls = [IngressTls((f"{name}.greedy.test",), name) for name in names]
    scene = Scene(
        *lists(
            ingress("web", *(rule(f"{name}.greedy.test") for name in names), namespace="greedy", tls=tls),
            ingress("web", rule("m.test"), namespace="modest", tls=[IngressTls(("m.test",), "t")]),
            *(tls_secret(name, *greedy, namespace="greedy") for name in names),
            tls_secret("t", *modest, namespace="modest"),
        ),
        judged_most=4,
    )

    def shown() -> list[list[bytes]]:
        return [[each.chain_pem for each in publication.model.certificates] for publication in scene.served]

    running = asyncio.create_task(_start_and_run(scene))
    async with asyncio.timeout(30):
        while not scene.served:  # noqa: ASYNC110 - translations run in a thread
            await asyncio.sleep(0.01)
        assert sorted(shown()[0]) == sorted([greedy[0]] * 20 + [modest[0]])
        for name in names:
            scene.tell(Upserted(tls_secret(name, *renewed, namespace="greedy")))
        scene.tell(Upserted(tls_secret("t", *own, namespace="modest")))
        while greedy[0] in shown()[-1]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    scene.tell(None)
    await running
    first = next(chains for chains in shown() if own[0] in chains)
    assert first.count(renewed[0]) <= 4
    assert shown()[-1] == [renewed[0]] * 20 + [own[0]]
    assert all(len(chains) == 21 for chains in shown())


async def test_a_drain_that_ends_is_published_although_nothing_has_changed() -> None:
    ends = datetime.now(UTC) + timedelta(milliseconds=300)
    said = config_map(zone_aware_routing="true", zone_drain=f"zone-b until={ends.isoformat(timespec='milliseconds')}")
    scene = Scene(*lists(ingress("web", rule("shop.test"))))
    scene.tell(Upserted(said))
    await scene.controller.start()
    running = asyncio.create_task(scene.controller.run())
    await until(lambda: any(each.reason == "ZoneDrainOver" for each in scene.published.findings))
    scene.tell(None)
    await running
    assert datetime.now(UTC) >= ends
    assert scene.served[-1].model.zones.drained == ()


async def test_what_requests_have_shown_is_a_finding_until_they_show_it_no_longer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    scene = Scene(*lists(ingress("web", rule("shop.test"))))
    await scene.run()
    seen = Finding("Service", "shop", "cart", "ZoneSick", "Look.", "Requests leave.", Severity.DEGRADED)
    for findings in ((seen,), (seen,), ()):
        scene.controller.see(findings)
        assert [finding for finding in scene.published.findings if finding.reason == "ZoneSick"] == [*findings]
    told = [record.getMessage() for record in caplog.records if "ZoneSick" in record.getMessage()]
    assert told == [
        "degraded: Service shop/cart: ZoneSick: Look. (Requests leave.)",
        "resolved: Service shop/cart: ZoneSick: Look.",
    ]

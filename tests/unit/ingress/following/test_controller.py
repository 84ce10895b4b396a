"""Events become publications: none too early, one for a burst, none without a difference."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from typing import Any, cast

import pytest

from ingress.following.controller import ModelPatience
from ingress.following.holdoff import QUIET_SECONDS
from ingress.objects.kinds import OPTIONAL_KINDS, ConfigMap, IngressTls, Kind, KubernetesObject, Metadata
from ingress.settings.context import TranslationContext
from ingress.sources.events import Removed, Replaced, SourceFindings, Upserted
from ingress.sources.inventory import REQUIRED_KINDS
from ingress.translation.assembly import Translation, translate
from tests.fakes.sockets import until
from tests.unit.ingress.cluster import (
    backend,
    endpoint,
    endpoint_slice,
    ingress,
    path,
    rule,
    service,
)
from tests.unit.ingress.following.scene import Scene, certificate, hosts, lists, start_and_run


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


GATEWAYS = TranslationContext(gateway_ports=((80, "80"),))
_OTHERS = [each for each in lists(ingress("web", rule("shop.test"))) if each.kind not in OPTIONAL_KINDS]


async def test_where_gateways_are_followed_the_first_model_waits_for_their_kinds() -> None:
    scene = Scene(*_OTHERS, context=GATEWAYS)
    following = asyncio.create_task(start_and_run(scene))
    await until(lambda: scene.controller.inventory.complete)
    assert scene.served == []
    for kind in sorted(OPTIONAL_KINDS, key=lambda each: each.value):
        scene.tell(Replaced(kind, ()))
    await _until_served(scene, 1)
    scene.tell(None)
    await following
    assert len(scene.served) == 1


@pytest.mark.parametrize("context", [TranslationContext(), GATEWAYS])
async def test_nothing_is_waited_for_that_nobody_follows_and_for_gateways_not_for_ever(
    context: TranslationContext,
) -> None:
    seconds = 0.1 if context is GATEWAYS else 3600.0
    scene = Scene(*_OTHERS, context=context, patience=ModelPatience(first_seconds=seconds))
    following = asyncio.create_task(start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(None)
    await following


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
    following = asyncio.create_task(start_and_run(scene))
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
    following = asyncio.create_task(start_and_run(scene))
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
    following = asyncio.create_task(start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(OSError("gone"))
    with pytest.raises(OSError, match="gone"):
        await following
    assert scene.published.publication == scene.served[0]


async def test_each_new_finding_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    broken = ingress("broken", rule("1.2.3.4"))
    scene = Scene(*lists(broken))
    following = asyncio.create_task(start_and_run(scene))
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
    following = asyncio.create_task(start_and_run(scene))
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
        scene.tell(Upserted(certificate("cert", "shop.test")))
        while not scene.source.empty():  # noqa: ASYNC110 (what takes the event is the code under test)
            await asyncio.sleep(0)

    def translate_while_the_answer_comes(*arguments: Any, **options: Any) -> Translation:
        translation = translate(*arguments, **options)
        if next(translations) == 0:
            asyncio.run_coroutine_threadsafe(answer(), loop).result(10)
        return translation

    monkeypatch.setattr("ingress.following.translating.translate", translate_while_the_answer_comes)
    following = asyncio.create_task(start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(None)
    await following
    assert [certificate.key for certificate in scene.served[0].model.certificates] == ["shop/cert"]
    assert scene.told == [()]


async def test_a_model_that_wants_nothing_new_is_published_at_once() -> None:
    scene = Scene(*lists(ingress("web", rule("shop.test"))), patience=ModelPatience(seconds=3600.0))
    following = asyncio.create_task(start_and_run(scene))
    await _until_served(scene, 1)
    scene.settled = False
    scene.tell(Upserted(ingress("blog", rule("blog.test"))))
    await _until_served(scene, 2)
    scene.tell(None)
    await following


async def test_a_model_does_not_wait_for_ever() -> None:
    scene = Scene(*lists(ingress("web", rule("shop.test"))), patience=ModelPatience(first_seconds=0.1))
    scene.settled = False
    following = asyncio.create_task(start_and_run(scene))
    await _until_served(scene, 1)
    scene.tell(None)
    await following


async def test_a_change_of_slices_only_keeps_the_routes() -> None:
    scene = Scene(*lists(ingress("web", rule("shop.test"))))
    following = asyncio.create_task(start_and_run(scene))
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
    following = asyncio.create_task(start_and_run(scene))
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
    following = asyncio.create_task(start_and_run(scene))
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

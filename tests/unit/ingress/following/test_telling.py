"""Mode changes are told once, to the log and to who asks, and what was withheld is told later."""

from __future__ import annotations

import asyncio
import logging

import pytest

from balancer.model.publication import RoutingModel
from balancer.model.zones import Zone, ZonePolicy, ZonePolicyName
from balancer.runtime.priority import give_way
from ingress.following.telling import ModeTelling
from ingress.following.zone_modes import ModeChange
from ingress.settings.context import TranslationContext
from tests import builders as build
from tests.fakes.sockets import PATIENCE_SECONDS, until
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
    translated,
)


@pytest.fixture(autouse=True)
def _rests_take_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look rests for turns of the loop and not for a time, as in a control process, so `look` waits long enough."""
    monkeypatch.setattr(give_way, "is_on", True)


def model(*zones: str) -> RoutingModel:
    endpoints = (endpoint(f"10.0.0.{number}", zone=zone) for number, zone in enumerate(zones, 1))
    return translated(
        ingress_class(),
        config_map(zone_aware_routing="true"),
        service(),
        endpoint_slice("cart-1", *endpoints),
        ingress("web", rule("shop.test")),
        context=TranslationContext(zone=Zone("zone-a")),
    ).model


async def look(telling: ModeTelling, *published: RoutingModel) -> None:
    """Publishes each model when the one before it was looked at."""
    for each in published:
        telling.published(each)
        for _ in range(50):
            await asyncio.sleep(0)


HOME, AWAY = model("zone-a", "zone-b"), model("zone-b")


async def test_a_change_is_told_once_and_its_return_later(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    told: list[tuple[ModeChange, ...]] = []
    telling = ModeTelling(told.append, quiet_seconds=0.2, pause_seconds=0.0)
    await look(telling, HOME, AWAY, AWAY)
    assert [change.mode.zonal for changes in told for change in changes] == [False]
    telling.published(HOME)
    await until(lambda: len(told) == 2)
    assert told[1][0].mode.zonal
    assert [message.partition(":")[0] for message in caplog.messages] == ["shop/cart", "shop/cart"]
    telling.close()


async def test_requests_that_are_refused_are_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    strict = ZonePolicy(ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone",))
    telling = ModeTelling(pause_seconds=0.0)
    for zones in ("ab", "bb"):
        backend = build.backend("shop/cart:80", build.endpoints(zones), zone_policy=strict)
        await look(telling, build.model(backend))
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "are answered with 503" in record.getMessage()
    telling.close()


async def test_nothing_is_told_after_the_end() -> None:
    told: list[tuple[ModeChange, ...]] = []
    telling = ModeTelling(told.append, quiet_seconds=0.01, pause_seconds=0.0)
    await look(telling, HOME, AWAY)
    telling.published(HOME)
    telling.close()
    later = ModeTelling(told.append, quiet_seconds=0.01, pause_seconds=0.0)
    await look(later, HOME, AWAY, HOME)
    await until(lambda: len(told) == 3)
    later.close()


async def test_of_models_that_come_fast_the_last_is_looked_at() -> None:
    told: list[tuple[ModeChange, ...]] = []
    telling = ModeTelling(told.append, pause_seconds=0.05)
    await look(telling, HOME)
    for published in (AWAY, HOME, AWAY):
        telling.published(published)
    await until(lambda: bool(told))
    assert [change.mode.zonal for changes in told for change in changes] == [False]
    telling.close()


def tenants(zone: str) -> RoutingModel:
    """Forty Services of one namespace and one of another, each with an endpoint in `zone` and one in zone-b."""
    places = [*(("greedy", f"s{number:02}") for number in range(40)), ("modest", "cart")]
    objects = [
        each
        for namespace, name in places
        for each in (
            service(name, namespace=namespace),
            endpoint_slice(
                f"{name}-1",
                endpoint("10.0.0.1", zone=zone),
                endpoint("10.0.0.2", zone="zone-b"),
                of=name,
                namespace=namespace,
            ),
            ingress(name, rule(f"{name}.test", path(to=backend(name))), namespace=namespace),
        )
    ]
    context = TranslationContext(zone=Zone("zone-a"))
    return translated(ingress_class(), config_map(zone_aware_routing="true"), *objects, context=context).model


async def test_many_changes_of_one_namespace_hide_none_of_another(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    telling = ModeTelling(quiet_seconds=600.0, pause_seconds=0.0)
    home, away = tenants("zone-a"), tenants("zone-b")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any("more Services" in message for message in caplog.messages):
            await look(telling, home, away)  # a slow look passes over one of them
    assert sum(message.startswith("greedy/") for message in caplog.messages) == 19
    assert sum(message.startswith("modest/") for message in caplog.messages) == 1
    telling.close()

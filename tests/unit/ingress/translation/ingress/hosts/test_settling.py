"""Canaries, other names and app-roots come after conflicts: they belong to the winners."""

from __future__ import annotations

from balancer.model.redirects import AppRoot
from tests.unit.ingress.cluster import backend, ingress, nginx, path, rule, service, translated


def test_an_alias_has_the_canaries_and_the_app_root_of_its_host() -> None:
    said = nginx(app_root="/app", server_alias="also.test")
    trial = nginx(canary="true", canary_weight="7")
    made = translated(
        ingress("web", rule("shop.test", path("/app")), annotations=said),
        ingress("trial", rule("shop.test", path("/app", to=backend("next"))), annotations=trial),
        service(),
        service("next"),
    )
    also, shop = made.model.hosts
    assert (also.name, shop.name, made.findings) == ("also.test", "shop.test", ())
    assert also.routes == shop.routes
    root, app = shop.routes
    assert root.gates == (AppRoot("/app"),)
    assert [canary.owner.name for canary in app.canaries] == ["trial"]

"""Each route configuration with an entry point for HTTPS has handshakes of its own."""

from __future__ import annotations

from balancer.connections.configured_names import ConfiguredNames
from balancer.connections.tls import self_signed
from balancer.model.entry_points import HTTP, HTTPS, EntryPoint, Protocol
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import Listener, RouteConfiguration

SECURE = EntryPoint("shop:443", Protocol.HTTPS, 443, "20000", "shop")
FALLBACK = self_signed()


def test_configurations_come_and_go_and_others_keep_their_sessions() -> None:
    names = ConfiguredNames(FALLBACK, lambda _: None)
    names.update(RoutingModel())
    before = names.at(HTTPS)
    model = RoutingModel(
        entry_points=(HTTP, HTTPS, SECURE),
        route_configurations=(RouteConfiguration(), RouteConfiguration("shop", has_fallback=False)),
        listeners=(Listener(), Listener("a", "shop", "a.test"), Listener("b", "shop", "b.test")),
    )
    names.update(model)
    assert names.at(HTTPS) is before
    assert names.at(SECURE).is_divided and not before.is_divided
    assert names.at(SECURE).listener_context is not before.listener_context
    names.update(RoutingModel())
    assert names.at(HTTPS) is before

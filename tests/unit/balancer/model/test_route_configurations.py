"""Route configurations of a model are found by key, and default routes are theirs."""

from __future__ import annotations

import msgspec

from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import INGRESS_LISTENER, OF_INGRESSES, RouteConfiguration
from balancer.model.routes import Host
from tests import builders as build


def test_a_configuration_is_found_by_its_key_and_a_missing_one_is_empty() -> None:
    other = RouteConfiguration("other", default_route=build.route("/other"))
    model = msgspec.structs.replace(build.model(default_route=build.route("/")), route_configurations=(other,))
    assert model.configuration("other") is other
    assert model.configuration() == OF_INGRESSES
    assert model.default_routes() == (other.default_route,)


def test_hosts_are_those_of_the_one_listener_of_ingresses_unless_they_say_otherwise() -> None:
    host = Host("a.test")
    assert (host.listener, host.configuration) == (INGRESS_LISTENER.key, OF_INGRESSES.key)
    assert INGRESS_LISTENER.configuration == OF_INGRESSES.key
    assert RoutingModel().listeners == (INGRESS_LISTENER,)

"""A request is explained for the entry point at which it comes in."""

from __future__ import annotations

import msgspec
import pytest

from balancer.live import View
from balancer.model.entry_points import HTTP, HTTPS, EntryPoint, Protocol
from balancer.model.route_configurations import INGRESS_LISTENER, OF_INGRESSES, Listener, RouteConfiguration
from tests import builders as build
from tests.unit.balancer.asked import CART, NEXT, explained, view_of


def shop_with_gateway(*hosts: str) -> View:
    """Ingresses with `hosts`, and an entry point on port 8080 that leads to next for the host `gateway.test`."""
    backends = [build.backend(key, build.endpoints("a")) for key in (CART, NEXT)]
    gateway = msgspec.structs.replace(
        build.host("gateway.test", build.route(to=NEXT)), configuration="gateway", listener="gateway"
    )
    ours = [build.host(name, build.route()) for name in hosts]
    content = msgspec.structs.replace(
        build.model(*backends, hosts=ours),
        entry_points=(EntryPoint("gateway:8080", Protocol.HTTP, 8080, "18080", "gateway"), HTTP, HTTPS),
        route_configurations=(RouteConfiguration("gateway"), OF_INGRESSES),
        listeners=(Listener("gateway", "gateway"), INGRESS_LISTENER),
        hosts=(gateway, *ours),
    )
    return view_of(content)


@pytest.mark.parametrize(
    ("hosts", "url", "service"),
    [
        ((), "http://gateway.test:8080/", "shop/next"),
        ((), "http://gateway.test/", None),
        ((), "https://gateway.test:8080/", None),
        ((), "http://shop.test:8080/", None),
        (("gateway.test",), "http://gateway.test:8080/", "shop/next"),
        (("gateway.test",), "http://gateway.test/", "shop/cart"),
        (("shop.test",), "http://shop.test:8080/", "shop/cart"),
    ],
)
def test_a_host_is_asked_for_at_the_entry_points_of_its_port_before_that_of_ingresses(
    hosts: tuple[str, ...], url: str, service: str | None
) -> None:
    assert explained(shop_with_gateway(*hosts), url=url).service == service

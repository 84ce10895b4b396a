"""A connection that is carried as bytes is explained like a request: who takes it, where it goes, and why."""

from __future__ import annotations

import msgspec
import pytest

from balancer.live import View
from balancer.model.entry_points import HTTP, HTTPS, EntryPoint, Protocol
from balancer.model.relays import RelayRoute
from balancer.model.route_configurations import INGRESS_LISTENER, OF_INGRESSES, Listener, RouteConfiguration
from balancer.model.routes import Branch, Owner, ServiceName
from tests import builders as build
from tests.unit.balancer.asked import CART, NEXT, explained, view_of

OWNER = Owner("TCPRoute", "shop", "db")


def branch(weight: int = 1, service: str = "cart", *, usable: bool = True) -> Branch:
    key = {"cart": CART, "next": NEXT}[service]
    return Branch(key if usable else None, OWNER, ServiceName("shop", service), weight=weight)


def view(*branches: Branch) -> View:
    """TLS for `vault.test` passes beside `shop.test`; port 5432 is TCP, and port 8443 has TLS for `a.test` alone."""
    backends = [build.backend(key, build.endpoints("ab")) for key in (CART, NEXT)]
    ours = [build.host(name, build.route()) for name in ("shop.test", "vault.test")]
    served = branches or (branch(),)
    content = msgspec.structs.replace(
        build.model(*backends, hosts=ours),
        entry_points=(
            EntryPoint("raw", Protocol.TCP, 5432, "15432", "raw"),
            EntryPoint("tls", Protocol.TLS, 8443, "18443", "tls"),
            HTTP,
            HTTPS,
        ),
        route_configurations=(RouteConfiguration("raw"), RouteConfiguration("tls"), OF_INGRESSES),
        listeners=(
            Listener("raw", "raw", only_relays=True),
            Listener("tls", "tls", only_relays=True),
            INGRESS_LISTENER,
        ),
        relays=(
            RelayRoute("", OWNER, served, configuration="raw", listener="raw"),
            RelayRoute("a.test", OWNER, served, configuration="tls", listener="tls", ends_tls=True),
            RelayRoute("vault.test", OWNER, served),
        ),
    )
    return view_of(content)


@pytest.mark.parametrize(
    "url",
    ["https://vault.test/", "https://vault.test:9443/x", "tcp://anyone:5432", "tls://a.test:8443", "tls://vault.test"],
)
def test_a_stream_goes_to_the_service_of_its_route(url: str) -> None:
    told = explained(view(), url=url)
    assert (told.service, told.ingress, told.status, told.limits) == ("shop/cart", "shop/db", None, None)
    assert len(told.pool) == 2
    assert any("TCPRoute shop/db has" in step for step in told.steps)


@pytest.mark.parametrize("url", ["https://shop.test/", "http://vault.test/", "http://shop.test:5432/"])
def test_http_is_explained_as_ever(url: str) -> None:
    told = explained(view(), url=url)
    assert told.limits is not None
    assert not any("TCPRoute" in step for step in told.steps)


def test_a_name_without_a_route_is_reset() -> None:
    told = explained(view(), url="tls://other.test:8443")
    assert (told.service, told.error) == (None, "no_route")
    assert "the connection is reset" in " ".join(told.steps)


def test_a_port_without_streams_has_no_route() -> None:
    told = explained(view(), url="tcp://db.test:6379")
    assert told.error == "no_route"
    assert told.steps[0] == "No entry point carries TCP at port 6379."


def test_the_largest_share_is_explained_and_the_others_are_named() -> None:
    told = explained(view(branch(1), branch(3, "next")), url="tcp://db.test:5432")
    assert told.service == "shop/next"
    assert any("25.0% to shop/cart, 75.0% to shop/next" in step for step in told.steps)


def test_a_share_without_a_backend_is_reset() -> None:
    told = explained(view(branch(usable=False)), url="tcp://db.test:5432")
    assert (told.status, told.pool) == (503, ())
    assert any("the connection is reset" in step for step in told.steps)

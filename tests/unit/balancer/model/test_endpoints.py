"""Endpoints: what holds when nothing is said, and their order."""

from __future__ import annotations

from balancer.model.endpoints import BackendKey, Endpoint, EndpointTls, place_of
from tests import builders as build


def test_an_endpoint_about_which_nothing_is_said_is_ready_and_in_no_zone() -> None:
    endpoint = Endpoint(address="10.0.0.1", port=80)
    assert (endpoint.ready, endpoint.serving_terminating, endpoint.zone) == (True, False, None)


def test_endpoints_sort_by_address_and_then_by_port() -> None:
    low, high, next_address = (
        build.endpoint("10.0.0.1", port=80, zone="zone-z"),
        build.endpoint("10.0.0.1", port=81, zone="zone-a"),
        build.endpoint("10.0.0.2", port=1),
    )
    assert sorted([next_address, high, low]) == [low, high, next_address]


def test_the_way_of_a_backend_tells_what_is_asked_and_nothing_of_the_secret() -> None:
    ways = [
        EndpointTls(),
        EndpointTls(verify=True, authority="shop/ca"),
        EndpointTls(authority="shop/ca"),
        EndpointTls(server_name="verify", authority="shop/ca"),
    ]
    assert len({tls.way for tls in ways}) == len(ways)
    with_pair = EndpointTls(verify=True, authority="shop/ca", client_certificate="shop/ca")
    assert with_pair.way == ways[1].way
    assert {place_of(BackendKey(f"{tls.way}#shop/cart:80")) for tls in ways} == {"shop/cart:80"}
    assert place_of(BackendKey("shop/cart:80")) == "shop/cart:80"

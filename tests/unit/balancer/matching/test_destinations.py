"""Under which names a branch counts, and what holds its requests to an endpoint."""

from __future__ import annotations

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.matching.destinations import Destination, instead, names_of
from balancer.model.endpoints import BackendKey
from balancer.model.policies import Affinity, RoutePolicy
from balancer.model.routes import Owner, Route, ServiceName
from tests import builders as build
from tests.matches import destination


@pytest.mark.parametrize(
    ("owner", "service", "names"),
    [
        (build.owner(), ServiceName("shop", "cart"), ("shop", "web", "cart", "80")),
        (build.owner("web", "team"), ServiceName("shop", "cart"), ("shop", "team/web", "cart", "80")),
        (Owner("", "zonal", ""), ServiceName("shop", "cart"), ("shop", "", "cart", "80")),
    ],
    ids=["its own namespace", "another namespace", "the operator"],
)
def test_requests_count_in_the_namespace_of_the_service(
    owner: Owner, service: ServiceName, names: tuple[str, ...]
) -> None:
    assert names_of(build.branch(owner=owner, service=service)) == names


def test_bounds_are_those_of_who_owns_the_route() -> None:
    route = build.route(canaries=[build.canary(service=ServiceName("other", "next"))])
    assert Destination(route, route.canaries[0]).tenant == "shop"


def test_a_broken_branch_has_an_error_and_holds_nobody() -> None:
    broken = destination(build.route(to=None, affinity=Affinity(), hash_by="$host"))
    assert (broken.backend, broken.branch.error, broken.is_held) == (None, ErrorKind.NO_BACKEND, False)
    assert broken.names == ("shop", "web", "missing", "")


def test_what_holds_a_client_is_known_at_the_swap() -> None:
    held = [destination(each).is_held for each in (build.route(affinity=Affinity()), build.route(hash_by="$host"))]
    assert (held, destination(build.route()).is_held) == ([True, True], False)


def test_a_stand_in_has_the_policy_and_names_of_the_route_and_its_own_backend() -> None:
    route = build.route(policy=RoutePolicy(tries=7), affinity=Affinity(), zone_policy=build.PREFER_ZONE)
    found = instead(route, BackendKey("shop/err:8080"))
    assert found is not None
    assert (found.policy, found.backend, found.zone_policy, found.is_held) == (
        route.policy,
        "shop/err:8080",
        None,
        False,
    )
    assert found.names == ("shop", "web", "cart", "8080")
    assert instead(route, None) is None


def test_what_is_equal_in_many_routes_is_one_object_for_all_of_them() -> None:
    """As they come to a worker, each has objects of its own."""
    said = msgspec.msgpack.encode(build.route())
    first, second = (destination(msgspec.msgpack.decode(said, type=Route)) for _ in range(2))
    assert first.backend is second.backend
    assert first.names.namespace is second.names.namespace
    assert first.names.service is second.names.service

"""What an explanation says of answers that zonal itself gives, of limits, and of every endpoint."""

from __future__ import annotations

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.explain.asking import RefusedRequest
from balancer.explain.drafts import complete
from balancer.explain.explaining import refused
from balancer.explain.explanations import EndpointFacts
from balancer.model.policies import RoutePolicy
from balancer.model.zones import OwnZone, Zone, ZonePolicy, ZonePolicyName
from tests import builders as build
from tests.questions import question_of
from tests.unit.balancer.asked import CART, Told, eject, explained, shop, view_of


def test_an_answer_of_our_own_has_a_status_and_a_kind() -> None:
    broken, invalid = build.route(to=None), build.branch(None, error=ErrorKind.BACKEND_INVALID)
    closed = msgspec.structs.replace(build.route(), closed=True)
    strict = ZonePolicy(ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone",))
    told = {
        "served": explained(shop()),
        "no route": explained(shop(), url="http://other.test/"),
        "no backend": explained(shop(broken)),
        "invalid": explained(shop(msgspec.structs.replace(broken, branches=(invalid,)))),
        "closed": explained(shop(closed), url="http://shop.test/Admin/users"),
        "empty": explained(shop(cart="")),
        "strict": explained(shop(cart="bb", policy=strict)),
    }
    assert {name: (each.status, each.error) for name, each in told.items()} == {
        "served": (None, None),
        "no route": (404, "no_route"),
        "no backend": (503, "no_backend"),
        "invalid": (500, "backend_invalid"),
        "closed": (503, "path_closed"),
        "empty": (503, "no_endpoint"),
        "strict": (503, "no_endpoint"),
    }


def test_a_full_backend_is_overloaded_only_while_serving() -> None:
    backend = msgspec.structs.replace(build.backend(of=build.endpoints("ab")), max_concurrency_per_endpoint=1)
    view = view_of(build.model(backend, hosts=[build.host("shop.test", build.route())]))
    assert explained(view).error is None
    for member in view.backends[CART].members.values():
        member.in_flight = 1
    assert (explained(view).status, explained(view).error) == (503, "overloaded")


def test_a_request_that_the_wire_refuses_is_explained_by_its_answer() -> None:
    with pytest.raises(RefusedRequest) as problem:
        question_of("http://shop.test/..")
    draft = refused(problem.value, OwnZone(Zone("zone-a"), "flag"))
    told = complete(draft, Told())
    assert (told.status, told.error, told.host, told.path) == (400, "bad_request", "shop.test", "/..")
    assert (told.own_zone, told.own_zone_source, told.service) == ("zone-a", "flag", None)
    (step,) = told.steps
    assert step.startswith("Such a request is refused: ") and step.endswith(". The answer is 400.")


def test_limits_are_those_of_the_route_and_its_backend() -> None:
    route = build.route(policy=RoutePolicy(max_body_bytes=0, read_timeout_seconds=7.5, tries=0))
    told = explained(shop(route))
    assert told.limits is not None
    assert (told.limits.max_body_bytes, told.limits.read_timeout_seconds, told.limits.tries) == (0, 7.5, 0)
    words = "Limits: request bodies of any size; 5 s to connect, 60 s between writes, 7.5 s between reads; "
    assert f"{words}any number of attempts." in told.steps


def test_every_endpoint_is_listed_once_with_what_slices_know_of_it() -> None:
    view = shop(cart="ab")
    eject(view, "10.0.0.2:80")
    assert explained(view, now=1.0).endpoints == (
        EndpointFacts("10.0.0.1:80", "zone-a", None, None, "ready"),
        EndpointFacts(
            "10.0.0.2:80", "zone-b", None, None, "ready, ejected for 9.0 s more because it failed too often in a row"
        ),
        EndpointFacts("10.0.9.1", "zone-x", None, "pod-1", "not ready, not used"),
        EndpointFacts("10.0.9.2", "zone-x", None, "pod-2", "not ready, not used"),
    )

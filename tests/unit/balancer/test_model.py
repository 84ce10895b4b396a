"""The model is made of values: equal by content, never changed, and safe to show."""

from __future__ import annotations

import pytest

from balancer.model import ZONES_OFF, Certificate, Endpoint, Publication, RoutingModel, ZonePolicyName
from tests import builders as build


def whole_model() -> RoutingModel:
    """Built anew each time, so two of them share nothing but their content."""
    return build.model(
        build.backend("shop/pay:80", build.endpoints("b-")),
        build.backend("shop/cart:80", build.endpoints("ab"), zone_policy=build.PREFER_ZONE),
        hosts=[build.host("shop.test", build.route("/cart"), default=build.route("/", "shop/pay:80"))],
        default_route=build.route("/", None),
    )


def test_equal_content_is_an_equal_value() -> None:
    assert whole_model() == whole_model()
    assert hash(whole_model()) == hash(whole_model())


def test_one_endpoint_that_is_no_longer_ready_makes_another_value() -> None:
    ready, unready = (build.model(build.backend(of=[build.endpoint(ready=state)])) for state in (True, False))
    assert ready != unready


def test_the_generation_is_no_part_of_the_model() -> None:
    first, second = (build.publication(generation, whole_model()) for generation in (1, 2))
    assert first != second
    assert first.model == second.model


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (build.endpoint(), "ready"),
        (build.backend(), "endpoints"),
        (build.route(), "backend"),
        (build.host(), "routes"),
        (RoutingModel(), "hosts"),
        (Publication(generation=1, model=RoutingModel()), "generation"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_value_cannot_be_changed(value: object, field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(value, field, None)


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


def test_zones_count_only_where_somebody_says_so() -> None:
    assert ZONES_OFF.name is ZonePolicyName.OFF
    assert build.backend().zone_policy == ZONES_OFF


def test_a_private_key_is_never_shown() -> None:
    certificate = Certificate(
        key="shop/tls", chain_pem=b"CHAIN", private_key_pem=b"VERY SECRET", expires_at_epoch_seconds=1e9
    )
    shown = repr(Publication(generation=1, model=RoutingModel(certificates=(certificate,))))
    assert "shop/tls" in shown
    assert "SECRET" not in shown

"""The model is made of values: equal by content, never changed, and safe to show."""

from __future__ import annotations

import importlib
import pkgutil

import msgspec
import pytest

import balancer.model
from balancer.model.publication import Publication, RoutingModel, other_objects
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


def test_parts_that_are_the_same_objects_do_not_count_and_equal_ones_do() -> None:
    kept, left, copied = (build.backend(f"shop/{name}:80", build.endpoints("ab")) for name in ("a", "b", "c"))
    came, copy = build.backend("shop/bb:80"), build.backend("shop/c:80", build.endpoints("ab"))
    assert copied == copy
    assert other_objects((kept, left, copied), (kept, came, copy)) == ((left, copied), (came, copy))
    assert other_objects((kept, left), (kept, left)) == ((), ())


def test_of_another_number_of_parts_nothing_is_said() -> None:
    assert other_objects((build.backend(),), ()) is None


def _structs() -> list[type[msgspec.Struct]]:
    for module in pkgutil.iter_modules(balancer.model.__path__, "balancer.model."):
        importlib.import_module(module.name)
    found, waiting = [], [msgspec.Struct]
    while waiting:
        waiting += (below := waiting.pop().__subclasses__())
        found += [each for each in below if each.__module__.startswith("balancer.model.")]
    return found


def test_no_struct_sends_defaults_or_is_searched_for_cycles() -> None:
    structs = _structs()
    assert RoutingModel in structs
    configs = {each.__name__: each.__struct_config__ for each in structs}
    assert [name for name, config in configs.items() if not config.omit_defaults or config.gc] == []


def test_a_model_that_is_sent_comes_as_the_same_value() -> None:
    model = whole_model()
    sent = msgspec.msgpack.encode(model)
    assert msgspec.msgpack.decode(sent, type=RoutingModel) == model
    assert len(sent) < 1000, "what has its default is not sent"

"""Every collection of the model has a row, whose weight and cuts bound a piece."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.publication import Collections, RoutingModel
from balancer.model.route_configurations import Listener
from balancer.workers.parts import PARTS, portions
from tests.properties import examples
from tests.unit.balancer.any_models import models


def test_every_collection_has_one_row_in_the_order_of_the_model() -> None:
    assert tuple(part.name for part in PARTS) == Collections.__struct_fields__


@pytest.mark.large
@examples(20)
@given(models)
def test_every_part_has_a_weight_and_a_key_that_sorts(model: RoutingModel) -> None:
    for part in PARTS:
        found = getattr(model, part.name)
        assert all(part.weight_of(each) >= 1 for each in found)
        assert list(map(part.key_of, found)) == sorted(map(part.key_of, found))


@given(st.lists(st.integers(1, 400), max_size=20))
def test_portions_keep_the_order_and_are_light(weights: list[int]) -> None:
    found = list(portions(weights, lambda weight: weight, lambda weight: [100] * (weight // 100) + [weight % 100]))
    assert sum(map(sum, found)) == sum(weights)
    assert all(sum(portion) < 400 for portion in found)


def test_a_part_that_nothing_cuts_stays_whole() -> None:
    heavy = Listener("a", certificates=("shop/tls",) * 1000)
    (row,) = (part for part in PARTS if part.name == "listeners")
    assert list(portions((heavy, msgspec.structs.replace(heavy, key="b")), row.weight_of, row.cut)) == [
        (heavy,),
        (msgspec.structs.replace(heavy, key="b"),),
    ]

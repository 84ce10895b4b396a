"""Structs of `balancer.zones` lie in memory as compiled modules believe."""

from __future__ import annotations

import pytest

from tests.unit.declarations import declared
from tests.unit.layouts import check_layout

MODULE = "balancer.zones.layouts"


@pytest.mark.parametrize("name", declared(MODULE))
def test_a_struct_lies_in_memory_as_its_layout_says(name: str) -> None:
    check_layout(MODULE, name)

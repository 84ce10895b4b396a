"""A member is known by its address and port."""

from __future__ import annotations

import pytest

from balancer.picking.members import Member, label_of
from tests import builders as build


@pytest.mark.parametrize(
    ("address", "expected"), [("10.0.0.1", "10.0.0.1:80"), ("fd00::1", "[fd00::1]:80"), ("::1", "[::1]:80")]
)
def test_the_label_of_a_member_is_its_address_and_port(address: str, expected: str) -> None:
    assert label_of(build.endpoint(address)) == Member(build.endpoint(address)).label == expected


def test_a_new_member_is_well_idle_and_of_unknown_speed() -> None:
    member = Member(build.endpoint())
    assert (member.health.is_well, member.in_flight, member.latency, member.pool) == (True, 0, None, None)

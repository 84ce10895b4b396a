"""An explanation begins with host, path and the own zone; an error of our own has its status."""

from __future__ import annotations

import msgspec

from balancer.errors import ErrorKind
from balancer.explain.explanations import Explanation, empty, failing
from balancer.model.zones import OwnZone, Zone

NOTHING = empty(host="shop.test", path="/cart", own=OwnZone(Zone("zone-a"), "flag"))


def test_it_begins_without_a_decision() -> None:
    assert (NOTHING.host, NOTHING.path, NOTHING.own_zone, NOTHING.own_zone_source) == (
        "shop.test",
        "/cart",
        "zone-a",
        "flag",
    )
    assert (NOTHING.status, NOTHING.service, NOTHING.pool, NOTHING.steps) == (None, None, (), ())


def test_an_error_has_the_status_of_its_answer() -> None:
    assert (failing(NOTHING, ErrorKind.NO_ROUTE).status, failing(NOTHING, ErrorKind.NO_ROUTE).error) == (
        404,
        "no_route",
    )


def test_what_is_not_set_is_not_written() -> None:
    written = msgspec.json.encode(NOTHING)
    assert b"shares" not in written
    assert msgspec.json.decode(written, type=Explanation) == NOTHING

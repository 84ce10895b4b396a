"""A route says whether every request of it is closed on purpose."""

from __future__ import annotations

import msgspec
import pytest

from tests import builders as build


@pytest.mark.parametrize(("below", "closed"), [((), False), (("/admin",), False), (("/",), True), (("/a", "/"), True)])
def test_a_route_is_closed_where_every_path_below_the_root_is(below: tuple[str, ...], closed: bool) -> None:
    assert msgspec.structs.replace(build.route(), closed_below=below).closed is closed

"""A route says what it does with a request before anything else."""

from __future__ import annotations

import msgspec

from balancer.model.redirects import HttpsRedirect
from tests import builders as build


def test_a_route_is_open_and_leaves_target_and_scheme_alone_by_itself() -> None:
    route = build.route()
    assert (route.closed, route.rewriting, route.redirects_to_https) == (False, None, False)
    assert msgspec.structs.replace(route, gates=(HttpsRedirect(),)).redirects_to_https

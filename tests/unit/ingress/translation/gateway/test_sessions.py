"""Sessions become affinity by cookie or header field."""

from __future__ import annotations

from typing import Any

from balancer.model.policies import Affinity
from ingress.translation.gateway.sessions import session_affinity
from tests.unit.ingress.translation.gateway.objects import http_route


def affinity(**said: Any) -> Affinity | None:
    return session_affinity(http_route(rules=[{"sessionPersistence": said} if said else {}]).spec.rules[0])


def test_a_session_has_a_cookie() -> None:
    assert affinity() is None
    assert affinity(sessionName="sid", absoluteTimeout="1h") == Affinity("sid", persistent=True)


def test_a_permanent_cookie_lives_as_long_as_the_session() -> None:
    found = affinity(sessionName="sid", absoluteTimeout="1h", cookieConfig={"lifetimeType": "Permanent"})
    assert found == Affinity("sid", persistent=True, max_age_seconds=3600, expires_seconds=3600)
    assert affinity(type="Cookie") == Affinity("zonal-session", persistent=True)


def test_a_session_may_stand_in_a_header_field() -> None:
    assert affinity(type="Header", sessionName="x-sid") == Affinity("x-sid", in_header=True, persistent=True)
    assert affinity(type="Header") == Affinity("x-zonal-session", in_header=True, persistent=True)

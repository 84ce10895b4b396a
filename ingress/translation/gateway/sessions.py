"""From sessionPersistence (experimental) of a rule to the affinity of its branches."""

from __future__ import annotations

from typing import Final

from balancer.model.policies import Affinity
from ingress.objects.gateway_routes import GrpcRule, HttpRule
from ingress.translation.gateway.durations import duration_seconds

_COOKIE: Final = "zonal-session"
_FIELD: Final = "x-zonal-session"


def session_affinity(rule: HttpRule | GrpcRule) -> Affinity | None:
    """The cookie or header field that keeps a client at its endpoint; None: nothing does."""
    said = rule.session_persistence
    if said is None:
        return None
    if said.type == "Header":
        return Affinity(said.session_name or _FIELD, in_header=True, persistent=True)
    seconds = duration_seconds(said.absolute_timeout) if said.cookie_config.lifetime_type == "Permanent" else None
    lifetime = int(seconds) if seconds else None
    return Affinity(said.session_name or _COOKIE, persistent=True, max_age_seconds=lifetime, expires_seconds=lifetime)

"""Who gets a copy of a request, in a sentence. No I/O."""

from __future__ import annotations

from balancer.model.endpoints import place_of
from balancer.model.routes import Route


def mirror_steps(route: Route) -> list[str]:
    """One sentence for each place to which requests of the route are copied."""
    rule, steps = route.mirroring, []
    if rule is not None:
        body = "" if rule.with_body else " without its body"
        steps.append(f"A copy of the request{body} goes to {rule.target} as {rule.host}. Nobody waits for its answer.")
    for mirror in route.mirrors:
        place, share = place_of(mirror.backend), f"{mirror.numerator} of {mirror.denominator} requests"
        steps.append(f"A copy of {share} goes to backend {place}. Nobody waits for its answer.")
    return steps

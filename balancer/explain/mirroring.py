"""Who gets a copy of a request, in a sentence. No I/O."""

from __future__ import annotations

from balancer.model.routes import Route


def mirror_steps(route: Route) -> list[str]:
    """One sentence if the requests of the route are copied."""
    rule = route.mirroring
    if rule is None:
        return []
    body = "" if rule.with_body else " without its body"
    return [f"A copy of the request{body} goes to {rule.target} as {rule.host}. Nobody waits for its answer."]

"""From an ExternalAuth filter (experimental) to the gate that asks a Service, as far as the filter alone says."""

from __future__ import annotations

from balancer.model.external_auth import BackendAuth
from ingress.objects.gateway_routes import ExternalAuthFilter


def auth_rule(said: ExternalAuthFilter) -> BackendAuth:
    """What is asked, and what is passed on. Which backend is asked is for others."""
    http = said.http
    return BackendAuth(
        path=http.path.rstrip("/"),
        request_fields=tuple(sorted({each.lower() for each in http.allowed_headers})),
        response_fields=tuple(dict.fromkeys(http.allowed_response_headers)),
    )

"""Backends in the model that stand in for the backend of a route: for its errors, or while it has no endpoints."""

from __future__ import annotations

import msgspec

from balancer.model.endpoints import BackendKey


class ErrorPages(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The answer of another backend replaces responses of these statuses (ingress-nginx: custom-http-errors).

    `statuses` are sorted. `backend` None: a small page of the proxy with the same status. `intercepts`: responses of
    endpoints are replaced, too, not only answers of the proxy itself.
    """

    statuses: tuple[int, ...]
    backend: BackendKey | None = None
    intercepts: bool = True


class StandIns(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What stands in for the backend of a route.

    `without_endpoints` serves the requests while the backend of the route has no endpoints; None: they answer 503.
    `service_port` is the port of the route's Service as its owner writes it, about which these backends are told.
    """

    error_pages: ErrorPages | None = None
    without_endpoints: BackendKey | None = None
    service_port: str = ""

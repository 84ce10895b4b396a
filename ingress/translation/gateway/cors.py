"""From CORS filters to the gate that answers preflights and the fields that tell browsers who may read responses."""

from __future__ import annotations

from collections.abc import Iterable

from balancer.model.edits import CorsFields, ResponseRule
from balancer.model.gates import CorsPreflight, GateRule
from ingress.objects.gateway_routes import Cors, RouteFilter

_USUAL = {"http": 80, "https": 443}


def cors_gates(filters: Iterable[RouteFilter]) -> tuple[GateRule, ...]:
    """The gates of preflights."""
    return tuple(CorsPreflight(_origins(each)) for each in _filters(filters))


def cors_fields(filters: Iterable[RouteFilter]) -> tuple[ResponseRule, ...]:
    """The fields of responses for allowed origins. `*` is never said together with credentials."""
    return tuple(CorsFields(_origins(each), _fields(each)) for each in _filters(filters))


def _filters(filters: Iterable[RouteFilter]) -> list[Cors]:
    return [each.cors for each in filters if each.type == "CORS" and each.cors is not None]


def _origins(cors: Cors) -> tuple[str, ...]:
    """The origins, each with and without the usual port of its scheme, because both name the same."""
    found: dict[str, None] = {}
    for each in cors.allow_origins:
        found[each] = None
        scheme, _, authority = each.partition("://")
        usual = _USUAL.get(scheme)
        if usual is None:
            continue
        host, colon, port = authority.rpartition(":")
        if colon and port == str(usual):
            found[f"{scheme}://{host}"] = None
        elif not colon:
            found[f"{each}:{usual}"] = None
    return tuple(found)


def _fields(cors: Cors) -> tuple[tuple[str, str], ...]:
    fields = []
    if cors.allow_credentials and "*" not in cors.allow_origins:
        fields.append(("Access-Control-Allow-Credentials", "true"))
    if cors.allow_methods:
        fields.append(("Access-Control-Allow-Methods", ", ".join(cors.allow_methods)))
    if cors.allow_headers:
        fields.append(("Access-Control-Allow-Headers", ", ".join(cors.allow_headers)))
    if cors.expose_headers:
        fields.append(("Access-Control-Expose-Headers", ", ".join(cors.expose_headers)))
    return (*fields, ("Access-Control-Max-Age", str(cors.max_age)))

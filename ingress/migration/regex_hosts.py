"""Says which hosts are in regex mode, because of which Ingresses, and what that changes for the paths of the others.

Reads the model and the annotations. Does not know how expressions are searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from balancer.model.publication import RoutingModel
from balancer.model.routes import Host, PathKind, Route
from ingress.migration.verdicts import RegexHostReview
from ingress.objects.kinds import Ingress, key_of
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.values import InvalidValue, blank_or_boolean

# A host may have thousands of paths.
_CHANGES_MOST = 20


def regex_hosts(model: RoutingModel, ingresses: Iterable[Ingress]) -> tuple[RegexHostReview, ...]:
    """The hosts of `model` in regex mode, by name."""
    asking = {"/".join(key_of(each)) for each in ingresses if _uses_regex(each)}
    return tuple(
        RegexHostReview(host=host.name, because_of=tuple(sorted(names)), changes=tuple(_changes(host, names)))
        for host in model.hosts
        if any(route.kind is PathKind.REGEX for route in host.routes)
        for names in [_authors(host, asking)]
    )


def _authors(host: Host, asking: set[str]) -> set[str]:
    routes = [*host.routes, *(() if host.default is None else (host.default,))]
    owners = {route.owner.full_name for route in routes}
    return (owners & asking) | {route.owner.full_name for route in routes if route.rewriting is not None}


def _changes(host: Host, authors: set[str]) -> Iterator[str]:
    others = [route for route in host.routes if _is_changed(route, authors)]
    for route in others[:_CHANGES_MOST]:
        yield f"{route.path} of {route.owner.full_name} matches every path that begins so, in any case."
    if len(others) > _CHANGES_MOST:
        yield f"So do {len(others) - _CHANGES_MOST} more paths."


def _is_changed(route: Route, authors: set[str]) -> bool:
    return route.owner.full_name not in authors and route.path != "/"


def _uses_regex(ingress: Ingress) -> bool:
    try:
        return blank_or_boolean(ingress.metadata.annotations.get(NGINX_PREFIX + "use-regex", "false"))
    except InvalidValue:
        return False

"""Finds the hosts whose paths are all regular expressions, and what each path matches because of that.

Reads the model: a path is listed as it is served. Does not know how a path becomes an expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from balancer.model.publication import RoutingModel
from balancer.model.routes import Host, PathKind
from ingress.findings import quote
from ingress.migration.verdicts import IngressReview, RegexHostReview
from ingress.settings.unsupported import FALSE

_MEANS_EXPRESSIONS = ("use-regex", "rewrite-target")
# A host may have thousands of paths. Whoever has read fifty knows what happens to the others.
_PATHS_MOST = 50


def regex_hosts(model: RoutingModel, reviews: Iterable[IngressReview]) -> tuple[RegexHostReview, ...]:
    """Every host in regex mode, the Ingresses of `reviews` that make it so, and its paths in the order of trial."""
    known = tuple(reviews)
    return tuple(
        RegexHostReview(host=host.name, because_of=tuple(_causes(host, known)), changes=tuple(_changes(host)))
        for host in model.hosts
        if any(route.kind is PathKind.REGEX for route in host.routes)
    )


def _causes(host: Host, reviews: Iterable[IngressReview]) -> Iterator[str]:
    """The Ingresses of the host with an annotation that means expressions; zonal decides which of them count."""
    owners = {route.owner.full_name for route in host.routes}
    for each in reviews:
        values = [name.value.strip().lower() for name in each.annotations if name.name in _MEANS_EXPRESSIONS]
        if any(value not in FALSE for value in values) and each.full_name in owners:
            yield each.full_name


def _changes(host: Host) -> Iterator[str]:
    for route in host.routes[:_PATHS_MOST]:
        owner, expression = route.owner.full_name, quote(route.expression)
        yield f"{quote(route.path)} of {owner} is every path in which {expression} is found."
    if len(host.routes) > _PATHS_MOST:
        yield f"{len(host.routes) - _PATHS_MOST} more paths are not listed."

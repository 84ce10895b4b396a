"""Says whether requests of an Ingress may stay in their zone once zone-aware routing is on, or why not.

Reads the model. Does not know which policy will be chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from balancer.model.endpoints import Backend, BackendKey
from balancer.model.publication import RoutingModel
from balancer.model.routes import Branch, Route
from ingress.objects.kinds import Ingress, key_of
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.values import InvalidValue, blank_or_boolean

YES = "yes"


def zone_columns(model: RoutingModel, *, knows_slices: bool) -> Mapping[tuple[str, str], str]:
    """`yes`, or `no, because …`, by namespace and name of each Ingress with routes.

    `knows_slices`: the endpoints of `model` come from EndpointSlices, and were not supposed.
    """
    backends = {backend.key: backend for backend in model.backends}
    found: dict[tuple[str, str], dict[str, None]] = {}
    for route in _routes(model):
        for branch in route.branches:
            why = found.setdefault((branch.owner.namespace, branch.owner.name), {})
            why.update(dict.fromkeys(_obstacles(branch, backends, knows_slices=knows_slices)))
    return {owner: f"no, because {' and '.join(why)}" if why else YES for owner, why in found.items()}


def column_of(ingress: Ingress, columns: Mapping[tuple[str, str], str]) -> str:
    """The column of one Ingress; `yes` if nothing is known against it."""
    try:
        to_service = blank_or_boolean(ingress.metadata.annotations.get(f"{NGINX_PREFIX}service-upstream", "false"))
    except InvalidValue:
        to_service = False
    if to_service:
        return "no, because service-upstream leaves the choice of the endpoint to kube-proxy"
    return columns.get(key_of(ingress), YES)


def _routes(model: RoutingModel) -> Iterator[Route]:
    for host in model.hosts:
        yield from host.routes
        if host.default is not None:
            yield host.default


def _obstacles(branch: Branch, backends: Mapping[BackendKey, Backend], *, knows_slices: bool) -> Iterator[str]:
    if branch.affinity is not None:
        yield "affinity keeps a client at its endpoint, wherever that is"
    if branch.hash_by:
        yield "upstream-hash-by chooses the endpoint by a value"
    backend = backends.get(branch.backend) if branch.backend is not None else None
    if (
        knows_slices
        and backend is not None
        and backend.endpoints
        and all(each.zone is None for each in backend.endpoints)
    ):
        yield "the EndpointSlices name no zone"

"""Lists what the model and the cluster's objects contain as rows: routes, endpoints, certificates and other replicas.

Every function is a generator or cheap, so that its caller may give the event loop a turn between rows. Does not know
who reads the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address

import msgspec

from balancer.model.certificates import Certificate
from balancer.model.endpoints import Backend, Endpoint, place_of
from balancer.model.publication import RoutingModel
from balancer.model.routes import Host, Route
from balancer.picking.members import label_of
from balancer.workers.messages import MemberReport
from balancer.workers.reports import FleetReport
from ingress.admin.overview.document import CertificateRow, EndpointRow, PeerRow, RouteRow
from ingress.admin.overview.traffic import RouteAccount
from ingress.objects.kinds import SliceEndpoint
from ingress.sources.inventory import Inventory

_HOSTS_NAMED = 20
_NO_REQUESTS = RouteAccount()


def route_rows(model: RoutingModel, counts: Mapping[tuple[str, ...], RouteAccount]) -> Iterator[RouteRow]:
    """Every path of every host, in the order of the model; the default backend of the operator comes last. `counts` are
    the requests by `RouteLabels`.
    """
    for host in model.hosts:
        for route in host.routes:
            yield _route_row(host, route, counts)
        if host.default is not None:
            yield _route_row(host, host.default, counts)
    for route in model.default_routes():
        yield _route_row(Host(""), route, counts)


def features_of(route: Route) -> tuple[str, ...]:
    """What a route does beyond sending requests to its backend, in short words; gates first, in their order."""
    own = [branch.filters for branch in route.branches if branch.filters is not None]
    policies = {
        "canary": bool(route.canaries),
        "affinity": route.main.affinity is not None,
        "hash": bool(route.main.hash_by),
        "regex": bool(route.expression),
        "rewrite": route.rewriting is not None or any(each.rewriting is not None for each in own),
        "mirror": route.mirroring is not None or bool(route.mirrors) or any(each.mirrors for each in own),
        "error-pages": route.stand_ins is not None and route.stand_ins.error_pages is not None,
        "default-backend": route.stand_ins is not None and route.stand_ins.without_endpoints is not None,
        "rate": bool(route.policy.body_rate),
        "buffered": route.policy.spools_bodies,
    }
    rules = (str(rule.__struct_config__.tag).replace("_", "-") for rule in (*route.all_gates, *route.response_rules))
    return tuple(dict.fromkeys((*rules, *(name for name, has in policies.items() if has))))


def endpoint_rows(backends: Iterable[Backend], inventory: Inventory, report: FleetReport) -> Iterator[EndpointRow]:
    """Every endpoint of `backends`, with what the workers report about it."""
    unwell = sorted(report.unwell.items())
    sick = {(backend, endpoint): (state, workers) for (backend, endpoint, state), workers in unwell}
    members = {(each.backend, each.endpoint): each for each in report.members}
    pods: tuple[tuple[str, str], dict[str, str]] = (("", ""), {})
    for backend in backends:
        name = (backend.namespace, backend.service)
        if pods[0] != name:
            pods = name, pods_of(inventory, *name)
        for endpoint in backend.endpoints:
            row = _endpoint_row(backend, endpoint, pods[1], sick)
            member = members.get((backend.key, row.address))
            yield row if member is None else _with_member(row, member)


def pods_of(inventory: Inventory, namespace: str, service: str) -> dict[str, str]:
    """The names of the pods behind a Service, by their canonical address."""
    return {
        canonical(endpoint.addresses[0]): endpoint.target_ref.name
        for item in inventory.slices(namespace, service)
        for endpoint in item.endpoints
        if endpoint.addresses and endpoint.target_ref is not None and endpoint.target_ref.kind == "Pod"
    }


def certificate_rows(model: RoutingModel) -> tuple[CertificateRow, ...]:
    """The certificates in use, the first to expire first."""
    hosts: dict[str, list[str]] = {}
    counts = Counter[str]()
    for host in model.hosts:
        if host.certificate is not None:
            counts[host.certificate] += 1
            if counts[host.certificate] <= _HOSTS_NAMED:
                hosts.setdefault(host.certificate, []).append(host.name)
    rows = (_certificate_row(each, hosts.get(each.key, []), counts[each.key]) for each in model.certificates)
    return tuple(sorted(rows, key=lambda row: row.expires_at_epoch_seconds))


def peer_rows(inventory: Inventory, own_service: tuple[str, str] | None, *, pod: str, port: int) -> tuple[PeerRow, ...]:
    """The other replicas, as the endpoints of the publish Service tell. `pod` is the own pod, `port` the admin port."""
    found: dict[str, PeerRow] = {}
    for item in inventory.slices(*own_service) if own_service is not None else ():
        for endpoint in item.endpoints:
            row = _peer_row(endpoint, port)
            if row is not None and (not pod or row.pod != pod):
                found[row.address] = row
    return tuple(found[address] for address in sorted(found))


def canonical(address: str) -> str:
    """An address as the model writes it; other text as it is."""
    try:
        return str(ip_address(address))
    except ValueError:
        return address


def _route_row(host: Host, route: Route, counts: Mapping[tuple[str, ...], RouteAccount]) -> RouteRow:
    main, owner, kind = route.main, route.owner, route.kind.value
    account = counts.get((owner.namespace, owner.name, main.service.name, host.name, route.path, kind), _NO_REQUESTS)
    return RouteRow(
        host=host.name,
        path=route.path,
        kind=kind,
        requests=int(account.requests),
        errors=int(account.errors),
        namespace=route.owner.namespace,
        ingress=route.owner.name,
        service=main.service.name,
        backend=place_of(main.backend) if main.backend is not None else "",
        closed=route.closed,
        features=features_of(route),
        certificate=host.certificate or "",
    )


def _endpoint_row(
    backend: Backend, endpoint: Endpoint, pods: Mapping[str, str], sick: Mapping[tuple[str, str], tuple[str, int]]
) -> EndpointRow:
    label = label_of(endpoint)
    state, workers = sick.get((backend.key, label), ("ready" if endpoint.ready else "draining", 0))
    return EndpointRow(
        namespace=backend.namespace,
        service=backend.service,
        port=backend.port,
        address=label,
        zone=endpoint.zone or "",
        node=endpoint.node or "",
        pod=pods.get(endpoint.address, ""),
        state=state,
        workers=workers,
    )


def _with_member(row: EndpointRow, member: MemberReport) -> EndpointRow:
    return msgspec.structs.replace(
        row,
        in_flight=member.in_flight,
        latency_seconds=member.latency_seconds,
        ejected_seconds=member.ejected_seconds,
    )


def _certificate_row(certificate: Certificate, hosts: Iterable[str], count: int) -> CertificateRow:
    namespace, _, secret = certificate.key.partition("/")
    return CertificateRow(
        namespace=namespace,
        secret=secret,
        expires_at_epoch_seconds=certificate.expires_at_epoch_seconds,
        hosts=tuple(hosts),
        host_count=count,
    )


def _peer_row(endpoint: SliceEndpoint, port: int) -> PeerRow | None:
    if not endpoint.addresses:
        return None
    address, target = canonical(endpoint.addresses[0]), endpoint.target_ref
    in_url = f"[{address}]" if ":" in address else address
    return PeerRow(
        address=address,
        zone=endpoint.zone,
        node=endpoint.node_name,
        pod=target.name if target is not None and target.kind == "Pod" else "",
        ready=endpoint.conditions.ready is not False,
        url=f"http://{in_url}:{port}/ui",
    )

"""Moves all Ingresses of a dump to Gateway API: what each becomes, the objects, and what would answer differently.

Decides; opens no file. Does not know flags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from balancer.model.publication import RoutingModel
from balancer.model.redirects import HttpsRedirect
from balancer.model.routes import PathKind
from ingress.migration.belongings import foreign
from ingress.migration.gateway.backends import ServicePorts, TlsPolicies
from ingress.migration.gateway.canaries import canaries_of, canary_rules, told_canaries
from ingress.migration.gateway.comparing import differences, probes_of
from ingress.migration.gateway.forms import kept_annotations
from ingress.migration.gateway.gateways import HostListeners, doorway_of, gateway_documents, showing
from ingress.migration.gateway.moves import (
    HostRules,
    MoveContext,
    MovedIngress,
    move,
    paths_of,
)
from ingress.migration.gateway.paths import PathText, paths_of_host
from ingress.migration.gateway.routes import route_documents
from ingress.migration.gateway.streams import passed_hosts, tcp_routes, tls_routes, with_streams
from ingress.migration.judging import closed_places
from ingress.migration.moving import RawObject
from ingress.objects.converting import decode
from ingress.objects.gateway import Namespace
from ingress.objects.kinds import ConfigMap, Ingress, Kind, Metadata, key_of
from ingress.settings.context import TranslationContext
from ingress.settings.table.option import NGINX_PREFIX, OWN_PREFIX
from ingress.settings.table.redirects import Redirects
from ingress.sources.events import Replaced, Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Translation, translate

Key = tuple[str, str]

_ISSUER: Final = "cert-manager.io/"


class MovedDump(msgspec.Struct, frozen=True):
    """What becomes of a dump. `objects` are the routes and policies of each Ingress, by namespace and name, and
    `shared` what all of them need. `differing` is what would answer differently, a line each. `ports` are the TCPRoutes
    of lines of tcp-services, and `withheld` says of the other lines why, a sentence each.
    """

    ingresses: tuple[MovedIngress, ...]
    objects: Mapping[Key, list[RawObject]]
    shared: list[RawObject]
    differing: tuple[str, ...]
    ports: tuple[RawObject, ...] = ()
    withheld: tuple[str, ...] = ()


def move_dump(
    inventory: Inventory,
    translation: Translation,
    context: TranslationContext,
    *,
    ours: Iterable[Ingress],
    closed: Mapping[Key, str],
    redirects: Redirects,
    gateway: Key,
    class_name: str,
    now_epoch_seconds: float,
    tcp_services: ConfigMap | None = None,
    knows_secrets: bool = True,
) -> MovedDump:
    """Moves `ours`, the Ingresses of the class that is moved. Changes `inventory` to what there is afterwards.

    `closed` says of Ingresses that answer 503 why. `redirects` are the settings of the ConfigMap, `tcp_services` the
    ConfigMap of ports, None for none. `knows_secrets`: Secrets of `inventory` are those of the cluster.
    """
    known = sorted(ours, key=key_of)
    canaries = [each for each in known if canary_rules(each).enabled]
    main = [each for each in known if each not in canaries]
    passed = passed_hosts(translation.model)
    cluster = _cluster(inventory, translation.model, main, canaries, redirects)
    policies = TlsPolicies(inventory, knows_secrets=knows_secrets)
    cluster = msgspec.structs.replace(cluster, passed=frozenset(passed), policies=policies)
    moved = [_with_names(move(each, cluster, closed.get(key_of(each), "")), main) for each in main]
    hosts = _hosts(moved, _certificates(main))
    doorway = doorway_of(hosts, gateway)
    certified = {host for host, each in hosts.items() if each.certificates}
    by_key = {key_of(each): each for each in main}
    objects: dict[Key, list[RawObject]] = {}
    for each in moved:
        key = each.namespace, each.name
        metadata = _metadata(by_key[key])
        objects[key] = route_documents(each, doorway, metadata, certified=certified.__contains__)
    tls = tls_routes(main, passed, cluster.ports, gateway)
    tcp = tcp_routes(tcp_services, cluster.ports, gateway)
    shared, (tls, tcp) = with_streams(gateway_documents(hosts, doorway, class_name), gateway, (tls, tcp))
    for owner, document in tls.routes:
        objects[owner].append(document)
    if policies.client_certificate is not None:
        shared = showing(shared, gateway, policies.client_certificate)
    shared = [*shared, *policies.documents()]
    written = [*shared, *_flat(objects), *(each for _, each in tcp.routes)]
    after = _translated(inventory, context, written, now_epoch_seconds)
    calls = {host.host for each in moved for host in each.hosts if any(rule.is_grpc for rule in host.rules)}
    probes = probes_of(_texts(moved, main), _fields(cluster), secure=certified, calls=calls)
    return MovedDump(
        tuple(sorted([*moved, *told_canaries(canaries, cluster.canaries, moved)], key=_key)),
        objects,
        shared,
        tuple(differences(translation.model, after, probes)),
        tuple(each for _, each in tcp.routes),
        tcp.withheld,
    )


def _key(moved: MovedIngress) -> Key:
    return moved.namespace, moved.name


def _cluster(
    inventory: Inventory,
    model: RoutingModel,
    main: Iterable[Ingress],
    canaries: Iterable[Ingress],
    redirects: Redirects,
) -> MoveContext:
    texts: dict[str, list[PathText]] = {}
    for each in main:
        for host, path, _ in paths_of(each):
            texts.setdefault(host, []).append(path)
    expressions = {host.name for host in model.hosts if any(route.kind is PathKind.REGEX for route in host.routes)}
    winners = {
        (host.name, route.path): route.owner.full_name
        for host in model.hosts
        for route in (*(() if host.default is None else (host.default,)), *host.routes)
    }
    redirected = frozenset(
        (host.name, route.path)
        for host in model.hosts
        for route in (*(() if host.default is None else (host.default,)), *host.routes)
        if any(isinstance(gate, HttpsRedirect) for gate in route.gates)
    )
    certificates = _certificates(main)
    return MoveContext(
        ServicePorts(inventory),
        TlsPolicies(inventory),
        paths={host: paths_of_host(known, has_expressions=host in expressions) for host, known in texts.items()},
        canaries=canaries_of(model, canaries),
        winners=winners,
        redirected=redirected,
        closed=closed_places(model),
        certified=frozenset(host for host, secrets in certificates.items() if secrets),
        config_maps={key_of(each): each.data for each in inventory.of(ConfigMap)},
        redirects=redirects,
    )


def _with_names(moved: MovedIngress, main: Iterable[Ingress]) -> MovedIngress:
    """`moved` with its aliases as hosts. Names that an Ingress has itself stay with that Ingress."""
    taken = {host for each in main for host, _, _ in paths_of(each)}
    first = next((each for each in moved.hosts if each.rules), None)
    added = [HostRules(name, first.rules) for name in moved.aliases if name not in taken] if first is not None else []
    others = {other: host for other, host in moved.other_names.items() if other not in taken}
    return msgspec.structs.replace(moved, hosts=(*moved.hosts, *added), other_names=others)


def _certificates(main: Iterable[Ingress]) -> dict[str, list[Key]]:
    found: dict[str, list[Key]] = {}
    for each in main:
        for section in each.spec.tls:
            for host in section.hosts:
                key = each.metadata.namespace, section.secret_name
                known = found.setdefault(host.lower(), [])
                if section.secret_name and key not in known:
                    known.append(key)
    return found


def _hosts(moved: Iterable[MovedIngress], certificates: Mapping[str, list[Key]]) -> dict[str, HostListeners]:
    namespaces: dict[str, dict[str, None]] = {}
    same: dict[str, str] = {}
    for each in moved:
        named = [host.host for host in each.hosts if host.rules]
        for alias in each.aliases:
            same[alias] = named[0] if named else alias
        same |= each.other_names
        for host in (*named, *each.other_names):
            namespaces.setdefault(host, {})[each.namespace] = None
    return {
        host: HostListeners(
            host, tuple(names), tuple(certificates.get(host) or certificates.get(same.get(host, "")) or ())
        )
        for host, names in sorted(namespaces.items())
    }


def _metadata(ingress: Ingress) -> RawObject:
    """Labels and annotations of routes: those of the Ingress that belong to nobody else."""
    left_out = {name for name, _ in foreign({**ingress.metadata.labels, **ingress.metadata.annotations})}
    labels = {name: text for name, text in ingress.metadata.labels.items() if name not in left_out}
    given = {
        name: text
        for name, text in ingress.metadata.annotations.items()
        if name not in left_out and not name.startswith((NGINX_PREFIX, OWN_PREFIX, _ISSUER, "kubernetes.io/"))
    }
    annotations = {**given, **kept_annotations(ingress.metadata.annotations)}
    return {**({"labels": labels} if labels else {}), **({"annotations": annotations} if annotations else {})}


def _flat(objects: Mapping[Key, list[RawObject]]) -> Iterator[RawObject]:
    for each in objects.values():
        yield from each


def _translated(
    inventory: Inventory, context: TranslationContext, documents: Iterable[RawObject], now_epoch_seconds: float
) -> RoutingModel:
    """The model of the cluster with the new objects in the place of the Ingresses."""
    namespaces = {each.metadata.namespace for each in inventory.of(Ingress)}
    inventory.apply(Replaced(Kind.INGRESS, ()))
    for name in sorted(namespaces):
        labels = {"kubernetes.io/metadata.name": name}
        inventory.apply(Upserted(Namespace(Metadata(name=name, labels=labels))))
    for each in documents:
        found = decode(each)
        if found is not None:
            inventory.apply(Upserted(found))
    context = msgspec.structs.replace(context, gateway_ports=((80, "80"), (443, "443")))
    return translate(inventory, context, now_epoch_seconds=now_epoch_seconds).model


def _texts(moved: Iterable[MovedIngress], main: Iterable[Ingress]) -> dict[str, set[str]]:
    """The paths of each host that moved."""
    found: dict[str, set[str]] = {host.host: set() for each in moved for host in each.hosts if host.rules}
    for each in main:
        for host, path, _ in paths_of(each):
            if host in found:
                found[host].add(path.text or "/")
    return found


def _fields(cluster: MoveContext) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for place, canary in cluster.canaries.items():
        said = canary.rules
        fields = [f"{said.header}: {said.header_value or word}" for word in ("always", "never") if said.header]
        fields += [f"Cookie: a=b; {said.cookie}={word}" for word in ("always", "never") if said.cookie]
        found[place] = fields
    return found

"""Moves one Ingress: its rules become rules of routes, grouped by hosts, and each annotation has a verdict.

A path whose protection has no form is not written. Pure; does not know Gateways, nor files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Final

import msgspec

from ingress.migration.gateway.backends import BackendProblem, ServicePorts, TlsPolicies
from ingress.migration.gateway.filters import (
    https_filter,
    mirror_filter,
    own_filters,
    redirect_filter,
    session_of,
)
from ingress.migration.gateway.forms import Form, NameForm, as_passed, forms_of, withholding
from ingress.migration.gateway.paths import HostPaths, NoForm, PathText, found_in, method_form, path_form
from ingress.migration.moving import RawObject
from ingress.migration.overrides import overrides_of
from ingress.objects.kinds import Ingress, IngressBackend, key_of
from ingress.objects.names import is_host
from ingress.settings.table.canaries import CanaryRules
from ingress.settings.table.endpoint_tls import EndpointScheme, EndpointTlsOptions
from ingress.settings.table.fields import CustomFields
from ingress.settings.table.mirrors import MirrorSettings
from ingress.settings.table.redirects import HostAliases, Redirects, RedirectTargets
from ingress.settings.table.rewriting import RewriteSettings

_ONLY_TLS: Final = "requests without TLS: write an HTTPRoute for them, or keep the Ingress."


class Move(Enum):
    """What becomes of an Ingress."""

    MOVES = "moves"
    DIFFERS = "moves, and differs"
    JOINS = "moves into the routes of the Ingress beside it"
    IN_PART = "moves in part"
    STAYS = "stays an Ingress"


class Rule(msgspec.Struct, frozen=True):
    """A rule of a route: what it matches, and everything else of it. `is_grpc`: it is one of a GRPCRoute.

    `redirected` is the path of requests over plain HTTP that get a redirect to https instead, as an HTTPRoute matches
    it; None: they are served alike.
    """

    match: RawObject | None
    rest: RawObject
    is_grpc: bool = False
    redirected: RawObject | None = None


class HostRules(msgspec.Struct, frozen=True):
    """The rules of one host of an Ingress, in their order."""

    host: str
    rules: tuple[Rule, ...]


class MovedIngress(msgspec.Struct, frozen=True):
    """What becomes of one Ingress. `withheld` says of each path that is not written why, in a sentence.

    `aliases` are further names of each host, and `other_names` names that redirect to one. `https_status` is that of
    redirects to https. `passes`: the TLS of its hosts passes to endpoints, by a TLSRoute. `joins`: it is a canary whose
    backend stands in the routes of another Ingress.
    """

    namespace: str
    name: str
    hosts: tuple[HostRules, ...] = ()
    names: tuple[NameForm, ...] = ()
    withheld: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    other_names: Mapping[str, str] = {}
    https_status: int = 308
    passes: bool = False
    joins: bool = False

    @property
    def verdict(self) -> Move:
        """The verdict on the Ingress as a whole."""
        if self.joins:
            return Move.IN_PART if self.withheld else Move.JOINS
        if not any(each.rules for each in self.hosts):
            return Move.IN_PART if self.passes else Move.STAYS
        if self.withheld:
            return Move.IN_PART
        lost = any(each.form in {Form.DIFFERS, Form.NONE} for each in self.names)
        return Move.DIFFERS if lost or self.remarks else Move.MOVES


class MovedCanary(msgspec.Struct, frozen=True):
    """A canary Ingress beside a path: its rules, its names, and its backend."""

    rules: CanaryRules
    namespace: str
    name: str
    backend: IngressBackend


class MoveContext(msgspec.Struct, frozen=True):
    """What the other objects say. `paths` are the kinds of the paths of each host. `canaries` are by host and path.

    `winners` are the Ingresses, `namespace/name`, that have each host and path. `redirected` are those that
    redirect plain HTTP, `certified` the hosts for which a Secret is named. `redirects` are the ConfigMap's settings.
    `passed` are the Ingresses whose TLS passes, by namespace and name. `closed` are hosts and paths that answer 503.
    """

    ports: ServicePorts
    policies: TlsPolicies
    paths: Mapping[str, HostPaths] = {}
    canaries: Mapping[tuple[str, str], MovedCanary] = {}
    winners: Mapping[tuple[str, str], str] = {}
    redirected: frozenset[tuple[str, str]] = frozenset()
    certified: frozenset[str] = frozenset()
    config_maps: Mapping[tuple[str, str], Mapping[str, str]] = {}
    redirects: Redirects = Redirects()
    passed: frozenset[tuple[str, str]] = frozenset()
    closed: frozenset[tuple[str, str]] = frozenset()

    def fields(self, name: tuple[str, str]) -> Mapping[str, str] | None:
        """The fields in a ConfigMap; None: it is not known."""
        return self.config_maps.get(name)


def move(ingress: Ingress, cluster: MoveContext, closed: str = "") -> MovedIngress:
    """Moves an Ingress that is no canary. `closed` is why all of its paths answer 503 as an Ingress; empty: they do
    not.
    """
    return _Moving(ingress, cluster).result(closed)


class _Moving:
    """One Ingress, path by path."""

    def __init__(self, ingress: Ingress, cluster: MoveContext) -> None:
        self._ingress = ingress
        self._cluster = cluster
        self._overrides = overrides_of(ingress)
        self._namespace = ingress.metadata.namespace
        self._withheld: list[str] = []
        self._remarks: list[str] = []

    def result(self, closed: str) -> MovedIngress:
        names = forms_of(self._ingress.metadata.annotations)
        namespace, name = key_of(self._ingress)
        if not closed and (namespace, name) in self._cluster.passed:
            names = tuple(as_passed(each) for each in names)
            return MovedIngress(namespace, name, names=names, withheld=(_ONLY_TLS,), passes=True)
        if why := closed or withholding(names):
            return MovedIngress(namespace, name, names=names, withheld=(why,))
        hosts = tuple(self._hosts())
        targets = self._overrides.over(RedirectTargets())
        aliases = self._overrides.over(HostAliases()).names
        self._remarks += (
            f"server-alias {each} is no host name: write the names that it matches one by one."
            for each in aliases
            if not is_host(each)
        )
        own = [each.host for each in hosts if each.host and not each.host.startswith("*")]
        return MovedIngress(
            namespace,
            name,
            hosts=hosts,
            names=names,
            withheld=tuple(dict.fromkeys(self._withheld)),
            remarks=tuple(dict.fromkeys(self._remarks)),
            aliases=tuple(filter(is_host, aliases)),
            other_names={_other_name(host): host for host in own} if targets.www else {},
            https_status=self._redirects().status,
        )

    def _redirects(self) -> Redirects:
        return self._overrides.over(self._cluster.redirects)

    def _hosts(self) -> Iterator[HostRules]:
        found: dict[str, list[Rule]] = {}
        for host, path, backend in paths_of(self._ingress):
            rules = found.setdefault(host, [])
            winner = self._cluster.winners.get((host, path.text or "/"))
            if winner is not None and winner != f"{self._namespace}/{self._ingress.metadata.name}":
                self._remarks.append(f"{host or '*'}{path.text} is left out: Ingress {winner} has it.")
                continue
            if (host, path.text or "/") in self._cluster.closed:
                self._withheld.append(f"{host or '*'}{path.text}: the path answers 503: see zonal check.")
                continue
            try:
                rules += self._rules(host, path, backend)
            except (NoForm, BackendProblem, ValueError) as problem:
                self._withheld.append(f"{host or '*'}{path.text}: {problem}.")
        yield from (HostRules(host, tuple(rules)) for host, rules in found.items())

    def _rules(self, host: str, path: PathText, backend: IngressBackend) -> list[Rule]:
        is_redirected = (host, path.text or "/") in self._cluster.redirected
        if is_redirected and host not in self._cluster.certified:
            raise NoForm("the path is redirected to https, and no Secret has a certificate of the host: name one")
        found: list[Rule] = []
        targets = self._overrides.over(RedirectTargets())
        redirect = redirect_filter(targets)
        tls = self._overrides.over(EndpointTlsOptions())
        is_grpc = tls.scheme is not None and tls.scheme.http2 and redirect is None
        match: RawObject | None
        if is_grpc:
            match = method_form(path)
            form = path_form(path, HostPaths.PLAIN)  # of its redirect; calls have no rewrite
        else:
            form = path_form(path, self._cluster.paths.get(host, HostPaths.PLAIN))
            match = {"path": form.match}
        redirected = form.match if is_redirected else None
        if targets.app_root and (path.text or "/") == "/" and not is_grpc:
            found.append(self._app_root(targets.app_root, is_redirected=is_redirected))
        if redirect is not None:
            return [*found, Rule(match, {"filters": [redirect]}, redirected=redirected)]
        rest = self._rest(backend, form.rewrite, tls, is_grpc=is_grpc)
        plain = Rule(match, rest, is_grpc, redirected)
        canary = self._cluster.canaries.get((host, path.text or "/"))
        return [*found, *([plain] if canary is None else self._with_canary(plain, canary))]

    @staticmethod
    def _app_root(target: str, *, is_redirected: bool) -> Rule:
        said = {"statusCode": 302, "path": {"type": "ReplaceFullPath", "replaceFullPath": target}}
        path = {"type": "Exact", "value": "/"}
        rest = {"filters": [{"type": "RequestRedirect", "requestRedirect": said}]}
        return Rule({"path": path}, rest, redirected=path if is_redirected else None)

    def _rest(
        self, backend: IngressBackend, rewrite: RawObject | None, tls: EndpointTlsOptions, *, is_grpc: bool
    ) -> RawObject:
        """Everything of a rule but its matches."""
        reference = self._cluster.ports.reference(self._namespace, backend)
        if tls.scheme is EndpointScheme.AUTO:
            raise NoForm("backend-protocol AUTO_HTTP has no form: say HTTP or HTTPS")
        if tls.scheme is not None and tls.scheme.secure:
            self._cluster.policies.protect(self._namespace, reference["name"], tls)
        fields = self._fields()
        filters = [*own_filters(self._overrides, rewrite, fields)]
        target = self._overrides.over(MirrorSettings()).target
        if target:
            mirror = mirror_filter(target, self._namespace)
            if mirror is None:
                self._remarks.append(f"mirror-target {target} is no Service: copies are not sent any more.")
            else:
                filters.append(mirror)
        if is_grpc and any(each["type"] in {"URLRewrite", "CORS"} for each in filters):
            raise NoForm("a GRPCRoute has neither URLRewrite nor CORS")
        rest: RawObject = {**({"filters": filters} if filters else {}), "backendRefs": [reference]}
        if (session := session_of(self._overrides)) is not None:
            rest["sessionPersistence"] = session
        return rest

    def _fields(self) -> Mapping[str, str]:
        """The fields of the ConfigMap that custom-headers names."""
        name = self._overrides.over(CustomFields()).fields_from
        if name is None:
            return {}
        found = self._cluster.fields(name)
        if found is None:
            raise NoForm(f"custom-headers names ConfigMap {'/'.join(name)}, which is not in the dump: add it")
        return found

    def _with_canary(self, plain: Rule, canary: MovedCanary) -> Iterator[Rule]:
        """The rules by which requests choose, before the rule that shares by weight. Headers count before cookies.

        `plain` is the rule of the path without its canary.
        """
        said, rest = canary.rules, plain.rest
        main = rest["backendRefs"][0]
        other = self._cluster.ports.reference(canary.namespace, canary.backend)
        for condition, goes in _choices(said):
            chosen = {**(plain.match or {}), "headers": [condition]}
            backend = other if goes else main
            yield msgspec.structs.replace(plain, match=chosen, rest={**rest, "backendRefs": [backend]})
        if said.weight:
            total = max(said.weight_total, said.weight)
            shares = [{**main, "weight": total - said.weight}, {**other, "weight": said.weight}]
            rest = {**rest, "backendRefs": shares}
        yield msgspec.structs.replace(plain, rest=rest)


def _choices(said: CanaryRules) -> Iterator[tuple[RawObject, bool]]:
    """The conditions by which requests choose, each with whether the canary gets them."""
    if said.header and said.header_value:
        yield {"name": said.header, "value": said.header_value}, True
    elif said.header and said.header_pattern:
        yield {"type": "RegularExpression", "name": said.header, "value": found_in(said.header_pattern)}, True
    elif said.header:
        yield {"name": said.header, "value": "always"}, True
        yield {"name": said.header, "value": "never"}, False
    if said.cookie:
        for word, goes in (("always", True), ("never", False)):
            value = rf"(?:.*;\s*)?{said.cookie}={word}(?:;.*)?"
            yield {"type": "RegularExpression", "name": "Cookie", "value": rf"^{value}$"}, goes


def paths_of(ingress: Ingress) -> Iterator[tuple[str, PathText, IngressBackend]]:
    """Every host and path of an Ingress with its backend. A default backend is the path / of each host without one."""
    rewrite = overrides_of(ingress).over(RewriteSettings()).target
    default = ingress.spec.default_backend
    for rule in ingress.spec.rules or ():
        paths = rule.http.paths if rule.http is not None else ()
        for each in paths:
            yield (
                rule.host.lower(),
                PathText(each.path, each.path_type or "ImplementationSpecific", rewrite),
                each.backend,
            )
        if default is not None and not any(each.path in {"", "/"} for each in paths):
            yield rule.host.lower(), PathText("/", "Prefix"), default
    if default is not None and not ingress.spec.rules:
        yield "", PathText("/", "Prefix"), default


def _other_name(host: str) -> str:
    return host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"


def redirecting(rules: Iterable[Rule], status: int) -> Iterator[Rule]:
    """The rules of plain HTTP: those that redirect do so, each path once, and the others stay."""
    told: list[RawObject] = []
    for each in rules:
        if each.redirected is None:
            yield each
        elif each.redirected not in told:
            told.append(each.redirected)
            yield Rule({"path": each.redirected}, {"filters": [https_filter(status)]})

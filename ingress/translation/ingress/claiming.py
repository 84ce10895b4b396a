"""Makes the claims of every Ingress that is ours.

Combines what the spec of an Ingress names with its annotations. Does not know which claim wins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec

from balancer.model.endpoints import EndpointTls
from balancer.model.external_auth import ExternalAuth
from balancer.model.gates import GateRule, SourceRanges, any_of
from balancer.model.redirects import AppRoot, SlashRedirect
from balancer.model.routes import Branch, Owner, PathKind, ServiceName
from ingress.findings import Findings, Report, Severity
from ingress.objects.kinds import Ingress, IngressClass, Kind, Metadata, ServiceReference, key_of, subject_of
from ingress.settings.context import TranslationContext
from ingress.settings.hooks import RegisteredHook
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.external_auth import ExternalAuthSettings
from ingress.settings.table.mirrors import MirrorSettings
from ingress.settings.table.source_ranges import SourceSettings
from ingress.sources.inventory import Inventory
from ingress.translation.claims import BranchClaim, CertificateClaim, created_epoch_seconds
from ingress.translation.containment import contained
from ingress.translation.denying import Denied
from ingress.translation.ingress.acceptance import classes_of, is_accepted, note_missing_class
from ingress.translation.ingress.affinities import affinity_of
from ingress.translation.ingress.annotations import IngressOptions, read_ingress_annotations
from ingress.translation.ingress.canaries import canary_of
from ingress.translation.ingress.custom_fields import read_custom_fields
from ingress.translation.ingress.errors import stand_in_claim
from ingress.translation.ingress.external_auth import (
    config_map_of,
    note_companions,
    placed_rule,
    read_external_auth,
)
from ingress.translation.ingress.hooks import read_hooks
from ingress.translation.ingress.hosts.settled import OwnClaims, PlaceClaim
from ingress.translation.ingress.ingresses import IngressClaims, read_claims
from ingress.translation.ingress.rewriting import meaning_of
from ingress.translation.memory import Memory
from ingress.translation.references import References
from ingress.translation.secrets.client_tls import read_client_tls
from ingress.translation.secrets.endpoint_tls import read_endpoint_tls
from ingress.translation.secrets.logins import SignInRule, read_sign_in
from ingress.translation.secrets.materials import Materials

_AuthOf = Callable[[PlaceClaim], ExternalAuth]


def claims_of_ingresses(
    inventory: Inventory,
    context: TranslationContext,
    *,
    settings: ClusterSettings,
    findings: Findings,
    materials: Materials,
    memory: Memory[OwnClaims | None],
) -> Iterator[OwnClaims]:
    """The claims of every Ingress that is ours. An Ingress on which zonal fails gets a finding and claims nothing.

    `materials` remembers certificates and keys that were read before, `memory` the claims under the same `context`.
    """
    classes = classes_of(inventory.of(IngressClass), context.controller_class)
    for ingress in inventory.of(Ingress):
        if not is_accepted(ingress, classes, context=context):
            note_missing_class(ingress, classes, context=context, findings=findings)
            continue
        make = partial(
            _contained_claims,
            ingress=ingress,
            settings=settings,
            context=context,
            materials=materials,
        )
        claims = memory.of(key_of(ingress), (ingress, settings), make, findings)
        if claims is not None:
            yield claims


def _contained_claims(
    inventory: Inventory,
    findings: Findings,
    *,
    ingress: Ingress,
    settings: ClusterSettings,
    context: TranslationContext,
    materials: Materials,
) -> OwnClaims | None:
    report = findings.about(subject_of(ingress))
    read = partial(
        claims_of,
        ingress,
        settings,
        inventory=inventory,
        report=report,
        allow_local=context.allow_local_endpoints,
        materials=materials,
        registered=context.hooks,
    )
    return contained(read, report, severity=Severity.CLOSED, effect="The Ingress is not served.")


def claims_of(
    ingress: Ingress,
    settings: ClusterSettings,
    *,
    inventory: Inventory,
    report: Report,
    allow_local: bool = False,
    materials: Materials | None = None,
    registered: tuple[RegisteredHook, ...] = (),
) -> OwnClaims | None:
    """The claims of one Ingress; None, with a finding, if it is invalid as a whole.

    `allow_local`: an Ingress may name addresses that are forbidden otherwise (`balancer/model/addresses.py`).
    `registered` are the hooks of the operator.
    """
    materials = materials or Materials(settings.keys)
    options = read_ingress_annotations(ingress, settings, report=report)
    if settings.closed:
        options = _closed(options)
    named = read_claims(ingress, report)
    if named is None:
        return None
    references = _references(ingress.metadata, settings)
    try:
        tls = read_endpoint_tls(
            options.endpoint_tls, references=references, inventory=inventory, materials=materials, report=report
        )
        options = _completed(options, settings, references=references, inventory=inventory, report=report)
    except Denied:
        options, tls = _closed(options), None
    sign_in, client_tls, auth = None, None, None
    try:
        client_tls = read_client_tls(
            options.client_tls, references=references, inventory=inventory, materials=materials, report=report
        )
        sign_in = read_sign_in(options.sign_in, references=references, inventory=inventory, report=report)
        auth = _external_auth(ingress, options, settings, inventory=inventory, report=report, allow_local=allow_local)
        asked = read_hooks(ingress, options, registered, report)
        options = msgspec.structs.replace(options, gates=(*options.gates, *asked)) if asked else options
    except Denied:
        options = _closed(options)
    placing = partial(placed_rule, auth, report=report) if auth is not None else None
    reader = _Reader(ingress.metadata, options, tls, sign_in, placing, references=references, settings=settings)
    claims = reader.claims(named)
    return claims if claims.is_canary else msgspec.structs.replace(claims, client_tls=client_tls)


def _completed(
    options: IngressOptions,
    settings: ClusterSettings,
    *,
    references: References,
    inventory: Inventory,
    report: Report,
) -> IngressOptions:
    """`options` with what other objects hold: fields of a ConfigMap, the Service that stands in. Raises `Denied`."""
    fields = read_custom_fields(
        options.custom_fields.fields_from,
        references=references,
        allowed=settings.fields.allowed.names,
        inventory=inventory,
        report=report,
    )
    return msgspec.structs.replace(
        options,
        response_rules=(*fields, *options.response_rules),
        stand_in=stand_in_claim(options.overrides, settings.errors, report),
    )


def _services_of(claims: Iterable[PlaceClaim]) -> frozenset[tuple[str, str]]:
    """The Services that claims name, by namespace and name."""
    named = (each.branch.service for claim in claims for each in claim.branches)
    return frozenset((service.namespace, service.name) for service in named)


class _Reader:
    """Makes the claims of one Ingress with these options."""

    __slots__ = (
        "_auth_of",
        "_hides_fields",
        "_metadata",
        "_open_paths",
        "_options",
        "_owner",
        "_references",
        "_sign_in",
        "_tls",
    )

    def __init__(
        self,
        metadata: Metadata,
        options: IngressOptions,
        tls: EndpointTls | None,
        sign_in: SignInRule | None,
        auth_of: _AuthOf | None,
        *,
        references: References,
        settings: ClusterSettings,
    ) -> None:
        """`auth_of` gives rules of external auth. `settings` say which paths need no sign-in."""
        self._hides_fields = bool(settings.proxy.hidden_fields)
        self._auth_of = auth_of
        self._references = references
        self._metadata = metadata
        self._options = options
        self._tls = tls
        self._sign_in = sign_in
        self._open_paths = settings.access.open_paths
        self._owner = Owner(Kind.INGRESS.value, metadata.namespace, metadata.name)

    def claims(self, named: IngressClaims) -> OwnClaims:
        """`named` is what the spec says. A canary claims neither hosts nor certificates, only places of others."""
        created = created_epoch_seconds(self._metadata)
        paths = [self._claim(each.host, each.path, kind=each.kind, service=each.service) for each in named.paths]
        if named.default is not None:
            paths += [self._default(host, named.default) for host in named.hosts]
        claims = OwnClaims(
            owner=self._owner,
            created_epoch_seconds=created,
            sequence=0 if math.isfinite(created) else self._metadata.sequence,
            claims=tuple(paths),
            services=_services_of(paths),
            secrets=self._secrets(),
            logins=(self._sign_in.logins,) if self._sign_in is not None else (),
            is_canary=self._options.canary,
        )
        if claims.is_canary:
            return claims
        return msgspec.structs.replace(
            claims,
            hosts=named.hosts,
            ciphers=self._options.host_tls.ciphers,
            aliases=self._options.aliases,
            server_snippet=self._options.snippets.server,
            passing=self._options.passing,
            twin_status=self._options.redirects.status if self._options.targets.www else 0,
            certificates=tuple(CertificateClaim(self._owner, each.host, each.secret_name) for each in named.tls),
            config_maps=self._config_maps(),
        )

    def _claim(self, host: str, path: str, *, kind: PathKind, service: ServiceReference) -> PlaceClaim:
        options = self._options
        meaning = meaning_of(path, kind, options.rewriting)
        claim = PlaceClaim(
            owner=self._owner,
            host=host,
            path=path,
            kind=kind,
            branches=(self._branch(path, service, is_expression=meaning.is_expression),),
            policy=options.route_policy,
            redirects_to_https=options.redirects.to_https(path, has_tls=False),
            redirects_beside_tls=options.redirects.to_https(path, has_tls=True),
            https_redirect=options.redirects.https_rule,
            app_root=AppRoot(options.targets.app_root) if options.targets.app_root else None,
            slash_redirect=SlashRedirect(options.redirects.form) if options.redirects.to_slash else None,
            response_rules=options.response_rules,
            stand_in=options.stand_in,
            closed=options.closed,
            is_expression=meaning.is_expression,
            snippet=options.snippets.location,
            url_form=options.redirects.form,
            hides_fields=self._hides_fields,
            is_enough_any=options.access.any_is_enough,
            rewriting=meaning.rewriting,
            mirroring=options.overrides.over(MirrorSettings()).mirroring(),
        )
        try:
            return msgspec.structs.replace(claim, gates=self._gates(claim))
        except Denied:
            return msgspec.structs.replace(claim, closed=True)

    def _default(self, host: str, service: ServiceReference) -> PlaceClaim:
        return msgspec.structs.replace(self._claim(host, "/", kind=PathKind.PREFIX, service=service), is_default=True)

    def _gates(self, claim: PlaceClaim) -> tuple[GateRule, ...]:
        """The gates of a claim. A canary has those about access that it states: its main Ingress has the cluster's.

        Raises `Denied`.
        """
        options = self._options
        rules = options.gates
        if options.canary:
            ranges = tuple(gate for gate in rules if isinstance(gate, SourceRanges))
            rules = ranges if options.overrides.of(SourceSettings) else ()
        if not claim.path.startswith(self._open_paths):
            if self._sign_in is not None:
                rules += (self._sign_in.gate,)
            if self._auth_of is not None:
                rules += (self._auth_of(claim),)
        return any_of(rules) if options.access.any_is_enough else rules

    def _branch(self, path: str, service: ServiceReference, *, is_expression: bool) -> BranchClaim:
        options = self._options
        canary = None
        if options.canary:
            canary = canary_of(options.canary_rules, follows_affinity=options.affinity.sticky)
        branch = Branch(
            backend=None,
            owner=self._owner,
            service=ServiceName(self._owner.namespace, service.name),
            canary=canary,
            affinity=affinity_of(options.affinity, path, is_expression=is_expression and not options.canary),
            hash_by=options.affinity.hash_by,
            hash_subset=options.affinity.endpoints_of_a_hash,
        )
        scheme = options.endpoint_tls.scheme
        return BranchClaim(
            branch=branch,
            port=service.port,
            tls=self._tls,
            http2=scheme.http2 if scheme is not None else None,
            overrides=options.overrides,
        )

    def _config_maps(self) -> tuple[tuple[str, str], ...]:
        options = self._options
        custom = "/".join(options.custom_fields.fields_from or ())
        return self._references.wanted(custom, config_map_of(options.external_auth))

    def _secrets(self) -> tuple[tuple[str, str], ...]:
        """The Secrets that are needed, whether they exist or not."""
        options = self._options
        for_endpoints = (options.endpoint_tls.secret or "") if not options.canary else ""
        return self._references.wanted(for_endpoints, options.sign_in.secret, options.client_tls.secret)


def _external_auth(
    ingress: Ingress,
    options: IngressOptions,
    settings: ClusterSettings,
    *,
    inventory: Inventory,
    report: Report,
    allow_local: bool,
) -> ExternalAuth | None:
    """The rule of the auth service. A canary has only its own, because its main Ingress has the cluster's."""
    rule = read_external_auth(
        options.external_auth,
        ExternalAuthSettings() if options.canary else settings.external_auth,
        references=_references(ingress.metadata, settings),
        inventory=inventory,
        report=report,
        allow_local=allow_local,
    )
    if rule is None and not options.canary:
        note_companions(ingress.metadata.annotations, report)
    return rule


def _references(metadata: Metadata, settings: ClusterSettings) -> References:
    return References(metadata.namespace, others_allowed=settings.access.other_namespaces)


def _closed(options: IngressOptions) -> IngressOptions:
    return msgspec.structs.replace(options, refused=options.refused.closing_paths())

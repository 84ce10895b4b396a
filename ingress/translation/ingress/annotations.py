"""Reads the annotations of an Ingress, and decides what is closed because of them.

Gives typed options of an Ingress over the defaults of the cluster. If an annotation protects and is not carried out,
the Ingress is closed, because serving it unprotected would be worse. Does not know hosts, paths or backends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from balancer.model.edits import ResponseRule
from balancer.model.gates import GateRule
from balancer.model.policies import Affinity, RoutePolicy
from ingress.findings import TO_BE_SERVED, Report, Severity
from ingress.objects.kinds import Ingress
from ingress.settings.reading import RefusedValue, read_options
from ingress.settings.table.access import AccessOptions, BasicAuthOptions
from ingress.settings.table.affinity import AffinityOptions
from ingress.settings.table.canaries import CanaryRules
from ingress.settings.table.client_tls import ClientTlsOptions
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.cors import CorsSettings
from ingress.settings.table.endpoint_tls import EndpointTlsOptions
from ingress.settings.table.external_auth import ExternalAuthSettings
from ingress.settings.table.fields import CustomFields
from ingress.settings.table.hooks import HOOK_PREFIX, HookChoice
from ingress.settings.table.listener_tls import HostTls
from ingress.settings.table.option import NGINX_PREFIX, OptionSource, Overrides
from ingress.settings.table.redirects import HostAliases, Redirects, RedirectTargets
from ingress.settings.table.rewriting import RewriteSettings
from ingress.settings.table.snippets import SnippetTexts
from ingress.settings.table.source_ranges import SourceSettings
from ingress.settings.table.whole import INGRESS_OPTIONS
from ingress.settings.values import InvalidValue
from ingress.translation.claims import StandInClaim
from ingress.translation.cluster.tracing import note_obstacle
from ingress.translation.ingress.canaries import check_rules
from ingress.translation.ingress.cors import cors_rules
from ingress.translation.ingress.passing import TlsPassing, read_passing
from ingress.translation.ingress.policing import forbidden
from ingress.translation.ingress.redirections import checked_targets, target_redirect
from ingress.translation.ingress.refusals import Refusals, Refused, refuse
from ingress.translation.ingress.snippets import OwnSnippets, read_snippets
from ingress.translation.services.service_annotations import note_unknown

_CANARY_CLOSED = "The canary gets no requests."
_PATHS_CLOSED = "Every path of the Ingress answers 503."


class IngressOptions(msgspec.Struct, frozen=True, gc=False):
    """What the annotations of an Ingress say.

    `overrides` are for the settings that its backends have by the ConfigMap and their Services: `ZoneSettings` and
    `BackendSettings`. `canary_rules` count for a canary only. `refused` is what must answer 503 because of annotations
    that are not carried out. `gates` judge the requests, and `response_rules` edit the responses. The gates that need
    Secrets are not among them: `sign_in`, `access` and `client_tls` say what they shall be. `targets` and `aliases` are
    about the hosts. `custom_fields` say which ConfigMap holds further edits. `stand_in` says what answers instead of
    the Service, `hooks` which hooks are asked, `snippets` what its lines of nginx do, `passing` whether TLS passes.
    """

    route_policy: RoutePolicy = RoutePolicy()
    redirects: Redirects = Redirects()
    canary_rules: CanaryRules = CanaryRules()
    affinity: AffinityOptions = AffinityOptions()
    endpoint_tls: EndpointTlsOptions = EndpointTlsOptions()
    host_tls: HostTls = HostTls()
    rewriting: RewriteSettings = RewriteSettings()
    overrides: Overrides = Overrides()
    targets: RedirectTargets = RedirectTargets()
    aliases: tuple[str, ...] = ()
    gates: tuple[GateRule, ...] = ()
    response_rules: tuple[ResponseRule, ...] = ()
    external_auth: ExternalAuthSettings = ExternalAuthSettings()
    sign_in: BasicAuthOptions = BasicAuthOptions()
    access: AccessOptions = AccessOptions()
    client_tls: ClientTlsOptions = ClientTlsOptions()
    custom_fields: CustomFields = CustomFields()
    stand_in: StandInClaim = StandInClaim()
    hooks: HookChoice = HookChoice()
    snippets: OwnSnippets = OwnSnippets()
    passing: TlsPassing = TlsPassing()
    refused: Refused = Refused()

    @property
    def canary(self) -> bool:
        """Whether the Ingress only adds canaries to the paths of others."""
        return self.canary_rules.enabled

    @property
    def closed(self) -> bool:
        """Whether every path must answer 503."""
        return self.refused.paths


def read_ingress_annotations(ingress: Ingress, settings: ClusterSettings, *, report: Report) -> IngressOptions:
    """The options of an Ingress over the cluster's defaults; what cannot be carried out becomes a finding."""
    annotations = ingress.metadata.annotations
    reading = read_options(annotations, INGRESS_OPTIONS, source=OptionSource.INGRESS, report=report)
    note_unknown({name: text for name, text in annotations.items() if not name.startswith(HOOK_PREFIX)}, report)
    overrides = reading.overrides
    note_obstacle(overrides, settings, report)
    options = _plain_options(f"{ingress.metadata.namespace}/{ingress.metadata.name}", overrides, settings, report)
    if options.canary:
        check_rules(options.canary_rules, report)
    else:
        options = _with_redirects(options, report)
    options = _with_relocation(options, settings, report)
    snippets = OwnSnippets() if options.canary else _snippets(overrides, settings, report)
    passing = read_passing(annotations, settings, report) if options.host_tls.passes else TlsPassing()
    refused = _refused(ingress, reading.refused, settings, canary=options.canary, report=report)
    is_forbidden = _note_forbidden(annotations, settings, canary=options.canary, report=report)
    if snippets.is_refused or passing.is_refused or is_forbidden:
        refused = refused.closing_paths()
    return msgspec.structs.replace(options, snippets=snippets, passing=passing, refused=refused)


def _plain_options(place: str, overrides: Overrides, settings: ClusterSettings, report: Report) -> IngressOptions:
    """What each annotation of the Ingress `place` says by itself."""
    preflights, cors = cors_rules(overrides.over(CorsSettings()), report)
    return IngressOptions(
        route_policy=overrides.over(settings.route_policy),
        redirects=overrides.over(settings.redirects),
        canary_rules=overrides.over(CanaryRules()),
        affinity=msgspec.structs.replace(overrides.over(settings.affinity), cookie=overrides.over(Affinity())),
        endpoint_tls=overrides.over(EndpointTlsOptions()),
        host_tls=overrides.over(HostTls()),
        rewriting=overrides.over(RewriteSettings()),
        overrides=overrides,
        gates=(
            *overrides.over(settings.tracing).gates(settings.spans),
            *settings.access.gates(),
            *preflights,
            *overrides.over(SourceSettings()).gates(settings.sources, settings.access.blocked_networks),
            *overrides.over(settings.ingress_limits).gates(place, settings.limits),
        ),
        sign_in=overrides.over(BasicAuthOptions()),
        access=overrides.over(AccessOptions()),
        client_tls=overrides.over(ClientTlsOptions()),
        response_rules=cors,
        external_auth=overrides.over(ExternalAuthSettings(verify=settings.external_auth.verify)),
        custom_fields=overrides.over(CustomFields()),
        hooks=overrides.over(HookChoice()),
    )


def _with_redirects(options: IngressOptions, report: Report) -> IngressOptions:
    """`options` with the redirects and the further host names, which canaries do not have (ingress-nginx)."""
    overrides = options.overrides
    targets = checked_targets(overrides.over(RedirectTargets()), report)
    redirect = target_redirect(targets, options.redirects.form, report)
    return msgspec.structs.replace(
        options,
        targets=targets,
        aliases=overrides.over(HostAliases()).names,
        gates=options.gates if redirect is None else (redirect, *options.gates),
    )


def _with_relocation(options: IngressOptions, settings: ClusterSettings, report: Report) -> IngressOptions:
    """`options` with the edits of fields that endpoints send. Texts that do not fit together edit nothing."""
    relocation = options.overrides.over(settings.relocation)
    try:
        rules = relocation.rules(options.redirects.form)
    except InvalidValue as problem:
        report.add(
            reason="InvalidValue",
            message=f"proxy-redirect-from and proxy-redirect-to do not fit together: {problem}.",
            effect="Redirects and cookies of the backend are passed on unchanged.",
            severity=Severity.DEGRADED,
        )
        return options
    return msgspec.structs.replace(options, response_rules=(*options.response_rules, *rules)) if rules else options


def _snippets(overrides: Overrides, settings: ClusterSettings, report: Report) -> OwnSnippets:
    texts = overrides.over(SnippetTexts())
    if texts == SnippetTexts():
        return OwnSnippets()
    ignored = settings.ignored_annotations
    return read_snippets(texts, settings.annotation_policy, ignored=ignored, closed_effect=_PATHS_CLOSED, report=report)


def _note_forbidden(annotations: Mapping[str, str], settings: ClusterSettings, *, canary: bool, report: Report) -> bool:
    """Whether the operator forbids an annotation of the Ingress; each that is forbidden gets a finding."""
    effect = _CANARY_CLOSED if canary else _PATHS_CLOSED
    found = tuple(forbidden(annotations, settings.annotation_policy))
    for _, why in found:
        message = f"{why}{TO_BE_SERVED}remove it."
        report.add(reason="ForbiddenAnnotation", message=message, effect=effect, severity=Severity.CLOSED)
    return bool(found)


def _refused(
    ingress: Ingress, values: Sequence[RefusedValue], settings: ClusterSettings, *, canary: bool, report: Report
) -> Refused:
    """What is closed because of `values` that do not parse, and of annotations without an option."""
    unread = {
        name.removeprefix(NGINX_PREFIX): text
        for name, text in ingress.metadata.annotations.items()
        if name.startswith(NGINX_PREFIX) and name not in INGRESS_OPTIONS
    }
    if not unread and not values:
        return Refused()
    effect = _CANARY_CLOSED if canary else _PATHS_CLOSED
    into = Refusals(ignored=settings.ignored_annotations, closed_effect=effect, report=report)
    for value in values:
        into.note(value.option.name, value.loss, value.why, repair="correct it")
    return refuse(unread, into=into)

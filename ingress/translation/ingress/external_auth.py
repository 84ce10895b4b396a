"""Decides which auth service is asked about the requests of an Ingress, and makes the rule of each of its paths.

Whatever would leave requests unjudged denies: the Ingress is closed. Does not know how a service is asked.
Source: ingress-nginx v1.15.1, authreq/main.go and template.go (`shouldApplyGlobalAuth`, `isLocationInLocationList`).
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import quote as percent_encoded

import msgspec

from balancer.matching.gates.external_auth.requests import AUTH_URL
from balancer.model.addresses import is_forbidden_host
from balancer.model.external_auth import ExternalAuth
from ingress.findings import Report, Severity, quote
from ingress.settings.auth_values import HOST_VARIABLES, check_variables, field_problem, placed
from ingress.settings.table.external_auth import ExternalAuthSettings
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.values import InvalidValue
from ingress.sources.inventory import Inventory
from ingress.translation.claims import Claim
from ingress.translation.denying import deny
from ingress.translation.references import References

_FIELDS_MOST = 50
_FIELDS_FROM = "auth-proxy-set-headers"
# Annotations that mean nothing without an auth service. Who writes one wants a service.
_COMPANIONS = frozenset(
    (
        "auth-cache-key",
        "auth-method",
        "auth-proxy-set-headers",
        "auth-request-redirect",
        "auth-response-headers",
        "auth-signin",
    )
)


def read_external_auth(
    own: ExternalAuthSettings,
    cluster: ExternalAuthSettings,
    *,
    references: References,
    inventory: Inventory,
    allow_local: bool,
    report: Report,
) -> ExternalAuth | None:
    """The rule of an Ingress with these `references` whose annotations say `own`; None if no service is asked.

    Raises `Denied`.

    An own service replaces that of the `cluster` as a whole. Only the operator may name a service at a forbidden
    host (`is_forbidden_host`), unless `allow_local`.
    """
    if own.url:
        return _own_rule(own, references=references, inventory=inventory, allow_local=allow_local, report=report)
    if not cluster.url or not own.uses_global:
        return None
    _check_texts(cluster, "global-auth", report)
    return msgspec.structs.replace(cluster.rule(), allow_local=True)


def note_companions(annotations: Collection[str], report: Report) -> None:
    """Notes annotations, by name, that ask for an auth service which none of them names."""
    names = {name.removeprefix(NGINX_PREFIX) for name in annotations}
    if useless := sorted(_COMPANIONS & names):
        report.add(
            reason="AuthUrlMissing",
            message=f"{useless[0]} means nothing without auth-url: add auth-url, or remove {useless[0]}.",
            effect="Requests are served, but nobody is asked who they are.",
            severity=Severity.UNPROTECTED,
        )


def config_map_of(own: ExternalAuthSettings) -> str:
    """The reference to the ConfigMap that an Ingress needs for its auth service; empty for none."""
    return own.fields_from if own.url else ""


def placed_rule(rule: ExternalAuth, claim: Claim, *, report: Report) -> ExternalAuth:
    """`rule` for one path of an Ingress, with the values of its variables. Raises `Denied`.

    The host name of the service may follow that of the request only where the Ingress names the host: a client that may
    send any Host could otherwise bring an auth service of its own.
    """
    parts = AUTH_URL.fullmatch(rule.url)
    assert parts is not None
    host, service, port = claim.host, claim.main.branch.service, claim.main.port
    values = {
        "namespace": claim.owner.namespace,
        "ingress_name": claim.owner.name,
        "service_name": service.name,
        "service_port": (port.name or str(port.number)) if port is not None else "",
        "location_path": percent_encoded(claim.path, safe="/-._~"),
    }
    name = placed(parts["host"], values)
    if "$" in name:
        if not host:
            message = "auth-url names $host as its host, and the Ingress has a rule without host: name one."
            deny(report, message, reason="ExternalAuthDenied")
        name = placed(name, dict.fromkeys(HOST_VARIABLES, "$host" if host.startswith("*.") else host))
    rest = placed(parts["target"] or "", values)
    url = f"{parts['scheme']}://{name}{parts['port'] or ''}{rest}"
    if (made := AUTH_URL.fullmatch(url)) is None:
        message = f"auth-url becomes {quote(url)}, which is no URL of a service: correct it."
        deny(report, message, reason="ExternalAuthDenied")
    if not rule.allow_local and is_forbidden_host(made["host"]):
        message = f"auth-url {quote(url)} has a loopback, link-local, reserved or metadata address: name another."
        deny(report, message, reason="ExternalAuthDenied")
    return msgspec.structs.replace(
        rule,
        url=url,
        signin=placed(rule.signin, values),
        request_redirect=placed(rule.request_redirect, values),
        cache_key=placed(rule.cache_key, values),
        added_fields=tuple((field, placed(value, values)) for field, value in rule.added_fields),
        cache_scope=f"{claim.kind.value} {host}{claim.path}" if rule.cache_key else "",
        tenant=claim.owner.namespace,
    )


def _own_rule(
    own: ExternalAuthSettings, *, references: References, inventory: Inventory, allow_local: bool, report: Report
) -> ExternalAuth:
    _check_texts(own, "auth", report)
    fields = _fields(own.fields_from, references=references, inventory=inventory, report=report)
    return msgspec.structs.replace(own.rule(), added_fields=fields, allow_local=allow_local)


def _check_texts(settings: ExternalAuthSettings, family: str, report: Report) -> None:
    """Denies variables that zonal does not know, in texts that do not close by themselves."""
    for name, text in (("signin", settings.signin), ("request-redirect", settings.request_redirect)):
        try:
            check_variables(text)
        except InvalidValue as problem:
            deny(report, f"{family}-{name} is {quote(text)} ({problem}): correct it.", reason="ExternalAuthDenied")


def _fields(
    reference: str, *, references: References, inventory: Inventory, report: Report
) -> tuple[tuple[str, str], ...]:
    """Names and values for the service, sorted by name. Raises `Denied`."""
    if not reference:
        return ()
    if problem := references.problem(_FIELDS_FROM, reference):
        deny(report, problem, reason="ExternalAuthDenied")
    key = references.key(reference)
    config_map = inventory.config_map(*key)
    if config_map is None:
        message = f"auth-proxy-set-headers names ConfigMap {'/'.join(key)}, and zonal knows none: create it."
        deny(report, message, reason="ConfigMapMissing")
    fields = tuple((field, text.strip()) for field, text in sorted(config_map.data.items()))
    if problem := _fields_problem(fields, "/".join(key)):
        deny(report, references.told(_FIELDS_FROM, reference, problem), reason="AuthFieldsDenied")
    return fields


def _fields_problem(fields: Collection[tuple[str, str]], named: str) -> str | None:
    """Why fields cannot go to a service, with the repair; None if they can."""
    if len(fields) > _FIELDS_MOST:
        return f"ConfigMap {named} of auth-proxy-set-headers is too long: use {_FIELDS_MOST} fields."
    for field, value in fields:
        if problem := field_problem(field, value):
            return f"Field {quote(field)} of auth-proxy-set-headers: {problem}."
    return None

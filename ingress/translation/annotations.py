"""Annotations: one table of what each means, and what happens to the others.

Responsible for reading them into typed options. A value that does not parse leaves the setting below it; an annotation
that would protect but is not carried out closes the Ingress, because serving unprotected is worse than not serving.
It must not know hosts, paths or backends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from balancer.model import RoutePolicy
from ingress.backend_settings import BACKEND_ROWS, LOAD_BALANCE_ROW
from ingress.findings import Report, quote
from ingress.known_names import NGINX_ANNOTATIONS
from ingress.objects import Ingress, Service
from ingress.settings import ClusterSettings
from ingress.translation.affinities import AFFINITY_ROWS
from ingress.translation.affinities import SECTION as AFFINITY
from ingress.translation.canaries import CANARY_ROWS, check_rules
from ingress.translation.canaries import SECTION as CANARY
from ingress.translation.endpoint_tls import ENDPOINT_ROWS, SECTION
from ingress.values import (
    Draft,
    InvalidValue,
    Row,
    go_boolean,
    integer,
    protocols,
    retry_words,
    seconds,
    size,
)
from ingress.zone_settings import SECTION as ZONES
from ingress.zone_settings import ZONE_ROWS

NGINX_PREFIX = "nginx.ingress.kubernetes.io/"
OWN_PREFIX = "zonal-ingress.io/"

# A tenant's connection may idle for an hour and no longer; the ConfigMap, which is the operator's, may say more.
TIMEOUT_LIMIT_SECONDS = 3600.0

SERVICE_ANNOTATIONS: Mapping[str, Row] = {
    OWN_PREFIX + key: row for key, row in (*ZONE_ROWS.items(), *BACKEND_ROWS.items())
}
"""Every annotation of a Service that is carried out; an Ingress may state the same."""

ANNOTATIONS: Mapping[str, Row] = {
    **SERVICE_ANNOTATIONS,
    NGINX_PREFIX + "load-balance": LOAD_BALANCE_ROW,
    NGINX_PREFIX + "service-upstream": Row("endpoints", "service_upstream", go_boolean),
    **{NGINX_PREFIX + name: row for name, row in (*ENDPOINT_ROWS.items(), *CANARY_ROWS.items())},
    **{NGINX_PREFIX + name: row for name, row in AFFINITY_ROWS.items()},
    OWN_PREFIX + "upgrade-protocols": Row("route", "upgrade_protocols", protocols),
    NGINX_PREFIX + "canary": Row("ingress", "canary", go_boolean),
    NGINX_PREFIX + "ssl-redirect": Row("ingress", "ssl_redirect", go_boolean),
    NGINX_PREFIX + "force-ssl-redirect": Row("ingress", "force_ssl_redirect", go_boolean),
    NGINX_PREFIX + "proxy-connect-timeout": Row("route", "connect_timeout_seconds", seconds(1), TIMEOUT_LIMIT_SECONDS),
    NGINX_PREFIX + "proxy-read-timeout": Row("route", "read_timeout_seconds", seconds(1), TIMEOUT_LIMIT_SECONDS),
    NGINX_PREFIX + "proxy-send-timeout": Row("route", "send_timeout_seconds", seconds(1), TIMEOUT_LIMIT_SECONDS),
    NGINX_PREFIX + "proxy-body-size": Row("route", "max_body_bytes", size),
    NGINX_PREFIX + "proxy-next-upstream": Row("route", "retry_on", retry_words),
    NGINX_PREFIX + "proxy-next-upstream-timeout": Row("route", "retry_seconds", seconds(0)),
    NGINX_PREFIX + "proxy-next-upstream-tries": Row("route", "tries", integer(0)),
}
"""Every annotation of an Ingress that is carried out: how it is read and where it goes."""

# Whoever sets one of these wants requests refused; a family, so that a misspelt member is caught as well.
_PROTECTIVE_PREFIXES = ("auth-", "limit-")
_PROTECTIVE = frozenset({"allowlist-source-range", "whitelist-source-range", "denylist-source-range"})


class IngressOptions(msgspec.Struct, frozen=True):
    """What the annotations of an Ingress say. `zones` holds the fields of `ZoneSettings` that it overrides.

    `backend` is what it says about the backends it names, for `BackendSettings.overridden`.
    `endpoint_tls`, for `read_endpoint_tls`, is what it says about TLS towards them; `affinity` is for `affinities`,
    and `canary_rules`, which count for a canary only, for `canaries`.
    `closed`: a protective annotation is not carried out, so every path must answer 503.
    """

    route_policy: RoutePolicy
    ssl_redirect: bool
    force_ssl_redirect: bool
    canary: bool = False
    closed: bool = False
    zones: Mapping[str, Any] = {}
    backend: Draft = {}
    endpoint_tls: Mapping[str, Any] = {}
    affinity: Mapping[str, Any] = {}
    canary_rules: Mapping[str, Any] = {}

    def policy(self, *, has_tls: bool) -> RoutePolicy:
        """The policy of a route whose host has a TLS section or not (ingress-nginx: ssl-redirect needs one)."""
        if self.force_ssl_redirect or (self.ssl_redirect and has_tls):
            return msgspec.structs.replace(self.route_policy, redirect_to_https=True)
        return self.route_policy


def read_ingress_annotations(ingress: Ingress, settings: ClusterSettings, *, report: Report) -> IngressOptions:
    """The options of an Ingress over the cluster's defaults; what cannot be carried out becomes a finding."""
    draft = _read(ingress.metadata.annotations, ANNOTATIONS, report=report)
    route = draft.get("route")
    canary = draft.get("ingress", {}).get("canary", False)
    if canary:
        check_rules(draft.get(CANARY, {}), report)
    options = {"ssl_redirect": settings.ssl_redirect, "force_ssl_redirect": settings.force_ssl_redirect}
    return IngressOptions(
        route_policy=msgspec.structs.replace(settings.route_policy, **route) if route else settings.route_policy,
        closed=_closes(ingress, report, canary=canary),
        zones=draft.get(ZONES, {}),
        backend={
            section: draft[section] for section in ("ejection", "check", "backend", "endpoints") if section in draft
        },
        endpoint_tls=draft.get(SECTION, {}),
        affinity=draft.get(AFFINITY, {}),
        canary_rules=draft.get(CANARY, {}),
        **{**options, **draft.get("ingress", {})},
    )


def read_service_annotations(service: Service, report: Report) -> Draft:
    """What a Service overrides: the fields of `ZoneSettings` in their section, the others for `BackendSettings`.

    ingress-nginx's annotations mean nothing there.
    """
    own = {name: text for name, text in service.metadata.annotations.items() if name.startswith(OWN_PREFIX)}
    return _read(own, SERVICE_ANNOTATIONS, report=report)


def _read(annotations: Mapping[str, str], table: Mapping[str, Row], *, report: Report) -> Draft:
    draft: Draft = {}
    for name, text in annotations.items():
        if name in table:
            _fill(draft, table[name], item=(name, text), report=report)
        elif name.startswith((NGINX_PREFIX, OWN_PREFIX)) and not _is_protective(name):
            _note_unread(name, report)
    return draft


def _fill(draft: Draft, row: Row, *, item: tuple[str, str], report: Report) -> None:
    name, text = item
    try:
        lowered = row.fill(draft, text)
    except InvalidValue as problem:
        report.add(
            reason=problem.reason,
            message=f"Annotation {name} is {quote(text)}: {problem}.",
            effect="The annotation has no effect.",
        )
        return
    if lowered:
        report.add(
            reason="ValueCapped",
            message=f"Annotation {name} is {quote(text)}: {lowered}.",
            effect="The largest allowed value is used.",
        )


def _note_unread(name: str, report: Report) -> None:
    if name.startswith(NGINX_PREFIX) and name.removeprefix(NGINX_PREFIX) in NGINX_ANNOTATIONS:
        reason, message = "NotCarriedOut", f"Annotation {name} is known but this version does not carry it out."
    else:
        reason, message = "UnknownAnnotation", f"Annotation {quote(name)} is not known: correct or remove it."
    report.add(reason=reason, message=message, effect="The annotation has no effect.")


def _closes(ingress: Ingress, report: Report, *, canary: bool) -> bool:
    effect = "The canary gets no requests." if canary else "Every path of the Ingress answers 503."
    protective = sorted(filter(_is_protective, ingress.metadata.annotations))
    for name in protective:
        report.add(
            reason="ProtectionNotCarriedOut",
            message=f"Annotation {quote(name)} protects, and this version does not carry it out: remove it to serve.",
            effect=effect,
        )
    return bool(protective)


def _is_protective(name: str) -> bool:
    if not name.startswith(NGINX_PREFIX):
        return False
    short = name.removeprefix(NGINX_PREFIX)
    return short.startswith(_PROTECTIVE_PREFIXES) or short in _PROTECTIVE

"""Settings of the cluster: the ConfigMap as one typed tree.

Responsible for which key fills which field, with ingress-nginx's names and defaults where it has the key. A value that
does not parse leaves the default and becomes a finding. It must not know where the ConfigMap came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from balancer.model import ProxySettings, RoutePolicy
from ingress.backend_settings import BACKEND_ROWS, LOAD_BALANCE_ROW, BackendSettings
from ingress.findings import Finding, Findings, Report, Subject, quote
from ingress.known_names import NGINX_SETTINGS
from ingress.values import (
    Draft,
    InvalidValue,
    Row,
    boolean,
    duration,
    go_boolean,
    header_buffers,
    integer,
    protocols,
    retry_words,
    seconds,
    size,
)
from ingress.zone_settings import FACTS_SECTION, SECTION, ZONE_FACT_ROWS, ZONE_ROWS, ZoneFactSettings, ZoneSettings

CONFIG_MAP = Subject("ConfigMap", "", "")
"""What findings are about when nobody says which ConfigMap it is."""


class ClusterSettings(msgspec.Struct, frozen=True):
    """What holds for the whole cluster.

    `zones`, and of `zone_facts` all but prices, count only while `zone_aware_routing` is true. `route_policy` is the
    default of every Ingress, and `zones` and `backend` are those of every backend.
    """

    zone_aware_routing: bool = False
    zones: ZoneSettings = ZoneSettings()
    zone_facts: ZoneFactSettings = ZoneFactSettings()
    ssl_redirect: bool = True
    force_ssl_redirect: bool = False
    service_upstream: bool = False
    node_watch: bool = False
    route_policy: RoutePolicy = RoutePolicy()
    proxy: ProxySettings = ProxySettings()
    backend: BackendSettings = BackendSettings()


class _Hsts(msgspec.Struct, frozen=True):
    enabled: bool = True
    max_age_seconds: int = 31_536_000
    include_subdomains: bool = True
    preload: bool = False


SETTINGS: Mapping[str, Row] = {
    "zone-aware-routing": Row("cluster", "zone_aware_routing", boolean),
    **ZONE_ROWS,
    **ZONE_FACT_ROWS,
    "ssl-redirect": Row("cluster", "ssl_redirect", go_boolean),
    "force-ssl-redirect": Row("cluster", "force_ssl_redirect", go_boolean),
    "service-upstream": Row("cluster", "service_upstream", go_boolean),
    "node-watch": Row("cluster", "node_watch", boolean),
    "use-proxy-protocol": Row("proxy", "proxy_protocol", go_boolean),
    "proxy-protocol-header-timeout": Row("proxy", "proxy_protocol_timeout_seconds", duration),
    "max-worker-connections": Row("proxy", "client_connections", integer(1)),
    "proxy-connect-timeout": Row("route", "connect_timeout_seconds", seconds(1)),
    "proxy-read-timeout": Row("route", "read_timeout_seconds", seconds(1)),
    "proxy-send-timeout": Row("route", "send_timeout_seconds", seconds(1)),
    "proxy-body-size": Row("route", "max_body_bytes", size),
    "proxy-next-upstream-tries": Row("route", "tries", integer(0)),
    "proxy-next-upstream": Row("route", "retry_on", retry_words),
    "proxy-next-upstream-timeout": Row("route", "retry_seconds", seconds(0)),
    "retry-non-idempotent": Row("retries", "non_idempotent", go_boolean),
    "load-balance": LOAD_BALANCE_ROW,
    **BACKEND_ROWS,
    "upgrade-protocols": Row("route", "upgrade_protocols", protocols),
    "client-header-timeout": Row("proxy", "client_header_timeout_seconds", seconds(1)),
    "client-body-timeout": Row("proxy", "client_body_timeout_seconds", seconds(1)),
    "keep-alive": Row("proxy", "keep_alive_seconds", seconds(0)),
    "keep-alive-requests": Row("proxy", "keep_alive_requests", integer(1)),
    "large-client-header-buffers": Row("head", "buffers", header_buffers),
    "upstream-keepalive-connections": Row("proxy", "endpoint_idle_connections", integer(0)),
    "upstream-keepalive-timeout": Row("proxy", "endpoint_idle_seconds", seconds(0)),
    "upstream-keepalive-requests": Row("proxy", "endpoint_requests", integer(1)),
    "hsts": Row("hsts", "enabled", go_boolean),
    "hsts-max-age": Row("hsts", "max_age_seconds", integer(0)),
    "hsts-include-subdomains": Row("hsts", "include_subdomains", go_boolean),
    "hsts-preload": Row("hsts", "preload", go_boolean),
    "enable-underscores-in-headers": Row("proxy", "underscores_in_headers", go_boolean),
    "generate-request-id": Row("proxy", "generate_request_id", go_boolean),
}
"""Every ConfigMap key that is carried out: how it is read and where it goes."""


def read_configmap(
    data: Mapping[str, str], subject: Subject = CONFIG_MAP
) -> tuple[ClusterSettings, tuple[Finding, ...]]:
    """The settings in a ConfigMap's data, and what was wrong with it; `subject` is what the findings are about.

    Keys and defaults are those of `SETTINGS`; keys that ingress-nginx v1.15.1 has keep its defaults. An unknown key
    changes nothing and is a finding.
    """
    findings = Findings()
    draft: Draft = {}
    for key, text in data.items():
        _read(draft, (key, text), report=findings.about(subject))
    return _settings(draft), findings.frozen()


def _read(draft: Draft, item: tuple[str, str], *, report: Report) -> None:
    key, text = item
    row = SETTINGS.get(key)
    if row is None:
        _note_unread(key, report)
        return
    try:
        row.fill(draft, text)
    except InvalidValue as problem:
        message = f"{key} is {quote(text)}: {problem}."
        report.add(reason=problem.reason, message=message, effect="The default of this key holds.")


def _note_unread(key: str, report: Report) -> None:
    if key in NGINX_SETTINGS:
        reason, message = "NotCarriedOut", f"{key} is known but this version does not carry it out."
    else:
        reason, message = "UnknownKey", f"{quote(key)} is not a key of this ConfigMap: correct or remove it."
    report.add(reason=reason, message=message, effect="The key has no effect.")


def _settings(draft: Draft) -> ClusterSettings:
    defaults = ClusterSettings()
    return msgspec.structs.replace(
        defaults,
        zones=defaults.zones.overridden(draft.get(SECTION, {})),
        zone_facts=msgspec.structs.replace(defaults.zone_facts, **draft.get(FACTS_SECTION, {})),
        route_policy=_route_policy(defaults.route_policy, draft),
        backend=defaults.backend.overridden(draft),
        proxy=msgspec.structs.replace(defaults.proxy, **_proxy(draft)),
        **draft.get("cluster", {}),
    )


def _route_policy(defaults: RoutePolicy, draft: Draft) -> RoutePolicy:
    policy = msgspec.structs.replace(defaults, **draft.get("route", {}))
    if draft.get("retries", {}).get("non_idempotent"):
        # nginx: the word beside the others; an Ingress that lists words of its own does without it.
        words = tuple(sorted({*policy.retry_on, "non_idempotent"}))
        return msgspec.structs.replace(policy, retry_on=words)
    return policy


def _proxy(draft: Draft) -> dict[str, Any]:
    fields = {**draft.get("proxy", {}), "hsts": _hsts_header(_Hsts(**draft.get("hsts", {})))}
    if "head" in draft:
        buffers, each_bytes = draft["head"]["buffers"]
        # nginx: a line may fill one buffer, the whole head may fill them all.
        fields |= {"head_line_bytes": each_bytes, "head_bytes": buffers * each_bytes}
    return fields


def _hsts_header(hsts: _Hsts) -> str | None:
    if not hsts.enabled:
        return None
    subdomains = "; includeSubDomains" if hsts.include_subdomains else ""
    preload = "; preload" if hsts.preload else ""
    return f"max-age={hsts.max_age_seconds}{subdomains}{preload}"

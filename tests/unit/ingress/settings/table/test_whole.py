"""The table as a whole: no name twice, and every default is that of the field."""

from __future__ import annotations

import msgspec

from balancer.model.policies import Affinity
from balancer.model.settings import Http2Settings, ListenerTls
from balancer.model.tracing import Sampling
from ingress.settings.configmap import read_configmap
from ingress.settings.table.access import AccessOptions, BasicAuthOptions
from ingress.settings.table.access_log import LogSettings
from ingress.settings.table.affinity import AffinityOptions
from ingress.settings.table.canaries import CanaryRules
from ingress.settings.table.client_tls import ClientTlsOptions
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.connections import HeaderBuffers, Hsts
from ingress.settings.table.cors import CorsSettings
from ingress.settings.table.endpoint_tls import EndpointTlsOptions
from ingress.settings.table.external_auth import ExternalAuthSettings
from ingress.settings.table.fields import CustomFields
from ingress.settings.table.forwarding import ForwardingSettings
from ingress.settings.table.hooks import HookChoice
from ingress.settings.table.limits import LIMIT_OPTIONS, LimitSettings
from ingress.settings.table.listener_tls import HostTls, Versions
from ingress.settings.table.mirrors import MirrorSettings
from ingress.settings.table.option import NGINX_PREFIX, OWN_PREFIX, OptionSource
from ingress.settings.table.redirects import HostAliases, RedirectTargets
from ingress.settings.table.responses import BrotliSettings, GzipSettings
from ingress.settings.table.rewriting import RewriteSettings
from ingress.settings.table.routes import RetrySettings
from ingress.settings.table.snippets import SnippetTexts
from ingress.settings.table.tls_keys import KeyBounds
from ingress.settings.table.tracing import CollectorSettings, TracingSettings
from ingress.settings.table.whole import CONFIGMAP_OPTIONS, INGRESS_OPTIONS, OPTIONS, SERVICE_OPTIONS

CLUSTER = ClusterSettings()
DEFAULTS: dict[type[msgspec.Struct], msgspec.Struct] = {
    type(settings): settings
    for settings in (
        CLUSTER,
        CLUSTER.zones,
        CLUSTER.zone_facts,
        CLUSTER.redirects,
        CLUSTER.relocation,
        RedirectTargets(),
        HostAliases(),
        CLUSTER.annotation_policy,
        SnippetTexts(),
        CLUSTER.route_policy,
        CLUSTER.proxy,
        CLUSTER.backend,
        CLUSTER.sources,
        CLUSTER.responses,
        CLUSTER.access,
        AccessOptions(),
        BasicAuthOptions(),
        HookChoice(),
        ClientTlsOptions(),
        GzipSettings(),
        BrotliSettings(),
        CorsSettings(),
        CLUSTER.fields,
        CLUSTER.errors,
        LogSettings(),
        TracingSettings(),
        CollectorSettings(),
        Sampling(),
        CustomFields(),
        CLUSTER.backend.ejection,
        CLUSTER.backend.health_check,
        RetrySettings(),
        HeaderBuffers(),
        HostTls(),
        ListenerTls(),
        KeyBounds(),
        Http2Settings(),
        Versions(),
        Hsts(),
        ForwardingSettings(),
        LimitSettings(),
        CLUSTER.limits,
        Affinity(),
        AffinityOptions(),
        CanaryRules(),
        EndpointTlsOptions(),
        RewriteSettings(),
        MirrorSettings(),
        ExternalAuthSettings(),
        CLUSTER.external_auth,
    )
}

GUARDS = {
    "allowlist-source-range",
    "whitelist-source-range",
    "denylist-source-range",
    "auth-type",
    "auth-secret",
    "auth-secret-type",
    "auth-realm",
    "auth-tls-secret",
    "auth-tls-match-cn",
    "block-cidrs",
    "block-user-agents",
    "block-referers",
}
FIELDS = {"default-backend", "custom-headers", "connection-proxy-header"}

REDIRECTS = {
    "permanent-redirect",
    "permanent-redirect-code",
    "temporal-redirect",
    "temporal-redirect-code",
    "from-to-www-redirect",
    "server-alias",
}
POLICY = {"annotation-value-word-blocklist", "annotations-risk-level"}
LIMITS = {option.name for option in LIMIT_OPTIONS} - {
    "limit-burst-multiplier",
    "limit-req-status-code",
    "limit-conn-status-code",
}
FORWARDING = {"proxy-real-ip-cidr", "forwarded-for-header"}

AUTH = {
    "auth-url", "auth-method", "auth-response-headers", "auth-proxy-set-headers", "auth-cache-duration",
    "auth-url-verify", "hooks", "global-auth-url", "global-auth-method", "global-auth-response-headers",
}  # fmt: skip


def test_no_name_is_there_twice() -> None:
    assert len({option.name for option in OPTIONS}) == len(OPTIONS)


def test_no_field_is_filled_twice() -> None:
    filled = [option.fills for option in OPTIONS if option.fills is not None]
    assert len(set(filled)) == len(filled)


def test_an_option_can_be_set_somewhere_and_is_described_in_one_row() -> None:
    assert [each.name for each in OPTIONS if not each.sources] == []
    assert [each.name for each in OPTIONS if each.prefix not in {NGINX_PREFIX, OWN_PREFIX}] == []
    assert [each.name for each in OPTIONS if not each.doc or "\n" in each.doc + each.doc_on_ingress] == []


def test_an_option_fills_a_field_that_exists() -> None:
    filled = {each.name: each.fills for each in OPTIONS if each.fills is not None}
    assert {name: (struct, field) for name, (struct, field) in filled.items() if struct not in DEFAULTS} == {}
    assert {name: field for name, (struct, field) in filled.items() if field not in struct.__struct_fields__} == {}


def test_the_default_that_is_documented_is_that_of_the_field() -> None:
    filled = {name: each for name, each in CONFIGMAP_OPTIONS.items() if each.fills is not None}
    defaults = {name: getattr(DEFAULTS[each.fills[0]], each.fills[1]) for name, each in filled.items() if each.fills}
    assert {name: each.grammar(each.default) for name, each in filled.items()} == defaults


def test_to_state_every_default_changes_nothing() -> None:
    stated = {key: option.default for key, option in CONFIGMAP_OPTIONS.items()}
    assert read_configmap(stated) == (ClusterSettings(), ())


def test_the_maps_hold_each_option_by_its_name_there() -> None:
    assert set(CONFIGMAP_OPTIONS) == {option.name for option in OPTIONS if OptionSource.CONFIGMAP in option.sources}
    assert {name for name in SERVICE_OPTIONS if not name.startswith(OWN_PREFIX)} == set()
    of_services_alone = SERVICE_OPTIONS.keys() - INGRESS_OPTIONS.keys()
    assert of_services_alone == {f"{OWN_PREFIX}send-proxy-protocol"}  # streams have no Ingress
    shared = SERVICE_OPTIONS.keys() - of_services_alone
    assert {name: SERVICE_OPTIONS[name] for name in shared} == {name: INGRESS_OPTIONS[name] for name in shared}


def test_what_would_weaken_closes() -> None:
    closing = {option.name for option in OPTIONS if option.closes}
    others = {"force-ssl-redirect", "canary", "backend-protocol", "proxy-ssl-verify", "x-forwarded-prefix"}
    snippets = {"configuration-snippet", "server-snippet", "ssl-passthrough"}
    assert closing == others | snippets | GUARDS | FIELDS | FORWARDING | LIMITS | POLICY | REDIRECTS | AUTH

"""The whole table: every option that zonal carries out, and by which name each source sets it.

Responsible for the order of the sections, which is that of docs/settings.md. It must not know how values are read.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingress.settings.table.access import ACCESS_OPTIONS
from ingress.settings.table.access_log import ACCESS_LOG_OPTIONS
from ingress.settings.table.affinity import AFFINITY_OPTIONS
from ingress.settings.table.annotation_policy import ANNOTATION_POLICY_OPTIONS
from ingress.settings.table.backends import BACKEND_OPTIONS
from ingress.settings.table.canaries import CANARY_OPTIONS
from ingress.settings.table.client_tls import CLIENT_TLS_OPTIONS
from ingress.settings.table.cluster import FLAG_OPTIONS, IGNORING_OPTIONS
from ingress.settings.table.connections import CONNECTION_OPTIONS
from ingress.settings.table.cors import CORS_OPTIONS
from ingress.settings.table.endpoint_tls import ENDPOINT_TLS_OPTIONS
from ingress.settings.table.errors import ERROR_OPTIONS
from ingress.settings.table.external_auth import EXTERNAL_AUTH_OPTIONS
from ingress.settings.table.fields import FIELD_OPTIONS
from ingress.settings.table.forwarding import FORWARDING_OPTIONS
from ingress.settings.table.hooks import HOOK_OPTIONS
from ingress.settings.table.http2 import HTTP2_OPTIONS
from ingress.settings.table.limits import LIMIT_OPTIONS
from ingress.settings.table.listener_tls import LISTENER_TLS_OPTIONS
from ingress.settings.table.mirrors import MIRROR_OPTIONS
from ingress.settings.table.option import Option, OptionSource
from ingress.settings.table.redirects import REDIRECT_OPTIONS
from ingress.settings.table.relocation import RELOCATION_OPTIONS
from ingress.settings.table.responses import RESPONSE_OPTIONS
from ingress.settings.table.rewriting import REWRITE_OPTIONS
from ingress.settings.table.routes import ROUTE_OPTIONS
from ingress.settings.table.snippets import SNIPPET_OPTIONS
from ingress.settings.table.source_ranges import SOURCE_RANGE_OPTIONS
from ingress.settings.table.tls_keys import TLS_KEY_OPTIONS
from ingress.settings.table.tracing import TRACING_OPTIONS
from ingress.settings.table.zones import ZONE_OPTIONS

OPTIONS: tuple[Option, ...] = (
    *FLAG_OPTIONS,
    *ZONE_OPTIONS,
    *BACKEND_OPTIONS,
    *ROUTE_OPTIONS,
    *REDIRECT_OPTIONS,
    *REWRITE_OPTIONS,
    *SOURCE_RANGE_OPTIONS,
    *LIMIT_OPTIONS,
    *ACCESS_OPTIONS,
    *CLIENT_TLS_OPTIONS,
    *MIRROR_OPTIONS,
    *EXTERNAL_AUTH_OPTIONS,
    *HOOK_OPTIONS,
    *CANARY_OPTIONS,
    *AFFINITY_OPTIONS,
    *ENDPOINT_TLS_OPTIONS,
    *CONNECTION_OPTIONS,
    *LISTENER_TLS_OPTIONS,
    *TLS_KEY_OPTIONS,
    *HTTP2_OPTIONS,
    *RESPONSE_OPTIONS,
    *RELOCATION_OPTIONS,
    *ANNOTATION_POLICY_OPTIONS,
    *FORWARDING_OPTIONS,
    *FIELD_OPTIONS,
    *ERROR_OPTIONS,
    *ACCESS_LOG_OPTIONS,
    *TRACING_OPTIONS,
    *CORS_OPTIONS,
    *SNIPPET_OPTIONS,
    *IGNORING_OPTIONS,
)
"""Every option, in the order of the documentation."""

CONFIGMAP_OPTIONS: Mapping[str, Option] = {
    option.name: option for option in OPTIONS if OptionSource.CONFIGMAP in option.sources
}
"""The options of the ConfigMap by their keys."""

SERVICE_OPTIONS: Mapping[str, Option] = {
    option.annotation: option for option in OPTIONS if OptionSource.SERVICE in option.sources
}
"""The options of a Service by their annotations."""

INGRESS_OPTIONS: Mapping[str, Option] = {
    option.annotation: option for option in OPTIONS if OptionSource.INGRESS in option.sources
}
"""The options of an Ingress by their annotations."""

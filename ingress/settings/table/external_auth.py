"""Options about auth services, which are asked about each request: of one Ingress, and of all of them.

Source: ingress-nginx v1.15.1, annotations auth-url and its kin, ConfigMap keys global-auth-*. A value that would
leave requests unjudged, or judged in another way, closes paths. It must not know how a service is asked.
"""

from __future__ import annotations

import msgspec

from balancer.model.external_auth import ExternalAuth
from ingress.findings import Severity
from ingress.settings.auth_values import (
    DEFAULT_CACHE_SECONDS,
    cache_key,
    cache_seconds,
    config_map_reference,
    method,
    page,
    parameter,
    response_fields,
    text,
    url,
)
from ingress.settings.table.option import CLUSTER, INGRESS, OWN_PREFIX, ROUTE, Option, Overrides
from ingress.settings.unsupported import Loss, closing
from ingress.settings.values import go_boolean, integer

_UNASKED = closing(Severity.UNPROTECTED, "nobody is asked who they are")
_ASKED_OTHERWISE = closing(Severity.UNPROTECTED, "the auth service is asked in another way")
_UNCACHED = Loss(Severity.DEGRADED, "the auth service is asked about every request")
_UNREDIRECTED = Loss(Severity.DEGRADED, "clients get 401 instead of the sign-in page")


class ExternalAuthSettings(msgspec.Struct, frozen=True):
    """What one source says about its auth service; an empty `url` is none. Fields as in `ExternalAuth`.

    `fields_from` refers to the ConfigMap of fields that the service gets, empty for none. `uses_global`: the service of
    the cluster is asked if there is no own one.
    """

    url: str = ""
    method: str = ""
    signin: str = ""
    signin_param: str = "rd"
    response_fields: tuple[str, ...] = ()
    request_redirect: str = ""
    cache_key: str = ""
    cache_seconds: tuple[tuple[int, float], ...] = DEFAULT_CACHE_SECONDS
    always_sets_cookie: bool = False
    fields_from: str = ""
    verify: bool = False
    uses_global: bool = True

    def rule(self) -> ExternalAuth:
        """The rule of this source, still without the fields of its ConfigMap."""
        return ExternalAuth(
            url=self.url,
            method=self.method,
            signin=self.signin,
            signin_param=self.signin_param,
            response_fields=self.response_fields,
            request_redirect=self.request_redirect,
            cache_key=self.cache_key,
            cache_seconds=self.cache_seconds if self.cache_key else (),
            always_sets_cookie=self.always_sets_cookie,
            verify=self.verify,
        )


class GlobalAuthSettings(ExternalAuthSettings, frozen=True):
    """What the ConfigMap says about the auth service of the cluster."""


def global_auth(overrides: Overrides) -> GlobalAuthSettings:
    """The auth service of the cluster; `overrides` are those of the ConfigMap."""
    verify = overrides.over(ExternalAuthSettings()).verify
    return msgspec.structs.replace(overrides.over(GlobalAuthSettings()), verify=verify)


EXTERNAL_AUTH_OPTIONS = (
    Option(
        name="auth-url",
        sources=INGRESS,
        fills=(ExternalAuthSettings, "url"),
        grammar=url,
        doc="URL of the auth service that is asked about each request, with [variables](external-auth.md). 2xx lets"
        " the request pass, 401 and 403 refuse it, anything else is 500",
        if_invalid=_UNASKED,
    ),
    Option(
        name="auth-method",
        sources=INGRESS,
        fills=(ExternalAuthSettings, "method"),
        grammar=method,
        doc="method of the request to the service, `GET` without it; also adds `X-Original-URI` and `X-Scheme`",
        if_invalid=_ASKED_OTHERWISE,
    ),
    Option(
        name="auth-signin",
        sources=INGRESS,
        fills=(ExternalAuthSettings, "signin"),
        grammar=page,
        doc="URL to which a 401 of the service redirects (302), with variables. An unknown variable closes the paths",
        if_invalid=_UNREDIRECTED,
    ),
    Option(
        name="auth-signin-redirect-param",
        sources=INGRESS,
        fills=(ExternalAuthSettings, "signin_param"),
        grammar=parameter,
        doc="parameter of that URL that says where the client wanted to go, `rd` without it",
    ),
    Option(
        name="auth-response-headers",
        sources=INGRESS,
        fills=(ExternalAuthSettings, "response_fields"),
        grammar=response_fields,
        doc="comma list of fields that the endpoint gets from the answer of the service, and never from the client",
        if_invalid=closing(Severity.UNPROTECTED, "clients may send fields that only the auth service should set"),
    ),
    Option(
        name="auth-request-redirect",
        sources=INGRESS,
        fills=(ExternalAuthSettings, "request_redirect"),
        grammar=text,
        doc="value of `X-Auth-Request-Redirect` for the service, with variables; without it the request target",
    ),
    Option(
        name="auth-proxy-set-headers",
        sources=INGRESS,
        fills=(ExternalAuthSettings, "fields_from"),
        grammar=config_map_reference,
        doc="name of a ConfigMap of the same namespace, whose data are fields that the service gets, with variables."
        " Without it the paths are closed",
        if_invalid=_ASKED_OTHERWISE,
    ),
    Option(
        name="auth-cache-key",
        sources=INGRESS,
        fills=(ExternalAuthSettings, "cache_key"),
        grammar=cache_key,
        doc="text with variables: answers of the service are remembered for each host, path of the Ingress and value."
        " Without it nothing is remembered",
        if_invalid=_UNCACHED,
    ),
    Option(
        name="auth-cache-duration",
        sources=INGRESS,
        fills=(ExternalAuthSettings, "cache_seconds"),
        grammar=cache_seconds,
        doc="comma list of statuses and a time such as `200 202 10m, 401 1m`; `200 202 401 5m` without it",
        if_invalid=closing(Severity.UNPROTECTED, "answers are remembered for another time"),
    ),
    Option(
        name="auth-always-set-cookie",
        sources=INGRESS,
        fills=(ExternalAuthSettings, "always_sets_cookie"),
        grammar=go_boolean,
        doc='`"true"`: cookies of the service also come with errors of endpoints, and with refusals',
    ),
    Option(
        name="auth-keepalive",
        sources=INGRESS,
        fills=None,
        grammar=integer(-(10**9)),
        doc="without effect: connections to the service are kept and bounded in any case",
    ),
    Option(
        name="auth-keepalive-requests",
        sources=INGRESS,
        fills=None,
        grammar=integer(-(10**9)),
        doc="without effect, likewise",
    ),
    Option(
        name="auth-keepalive-timeout",
        sources=INGRESS,
        fills=None,
        grammar=integer(-(10**9)),
        doc="without effect, likewise",
    ),
    Option(
        name="auth-keepalive-share-vars",
        sources=INGRESS,
        fills=None,
        grammar=go_boolean,
        doc="without effect, likewise",
    ),
    Option(
        name="auth-url-verify",
        sources=ROUTE,
        fills=(ExternalAuthSettings, "verify"),
        grammar=go_boolean,
        default="false",
        prefix=OWN_PREFIX,
        doc='`"true"`: the certificate of an https auth service is verified with the roots of the system. As in'
        " ingress-nginx it is not without this option",
        if_invalid=closing(Severity.UNPROTECTED, "the certificate of the auth service is not verified"),
    ),
    Option(
        name="enable-global-auth",
        sources=INGRESS,
        fills=(ExternalAuthSettings, "uses_global"),
        grammar=go_boolean,
        doc='`"false"`: the service of `global-auth-url` is not asked',
    ),
    Option(
        name="global-auth-url",
        sources=CLUSTER,
        fills=(GlobalAuthSettings, "url"),
        grammar=url,
        doc="the auth service of every Ingress without an own `auth-url`, unless `enable-global-auth` is `false`",
        if_invalid=_UNASKED,
    ),
    Option(
        name="global-auth-method",
        sources=CLUSTER,
        fills=(GlobalAuthSettings, "method"),
        grammar=method,
        doc="as `auth-method`",
        if_invalid=_ASKED_OTHERWISE,
    ),
    Option(
        name="global-auth-signin",
        sources=CLUSTER,
        fills=(GlobalAuthSettings, "signin"),
        grammar=page,
        doc="as `auth-signin`",
        if_invalid=_UNREDIRECTED,
    ),
    Option(
        name="global-auth-signin-redirect-param",
        sources=CLUSTER,
        fills=(GlobalAuthSettings, "signin_param"),
        grammar=parameter,
        default="rd",
        doc="as `auth-signin-redirect-param`",
    ),
    Option(
        name="global-auth-response-headers",
        sources=CLUSTER,
        fills=(GlobalAuthSettings, "response_fields"),
        grammar=response_fields,
        doc="as `auth-response-headers`",
        if_invalid=closing(Severity.UNPROTECTED, "clients may send fields that only the auth service should set"),
    ),
    Option(
        name="global-auth-request-redirect",
        sources=CLUSTER,
        fills=(GlobalAuthSettings, "request_redirect"),
        grammar=text,
        doc="as `auth-request-redirect`",
    ),
    Option(
        name="global-auth-cache-key",
        sources=CLUSTER,
        fills=(GlobalAuthSettings, "cache_key"),
        grammar=cache_key,
        doc="as `auth-cache-key`",
        if_invalid=_UNCACHED,
    ),
    Option(
        name="global-auth-cache-duration",
        sources=CLUSTER,
        fills=(GlobalAuthSettings, "cache_seconds"),
        grammar=cache_seconds,
        default="200 202 401 5m",
        doc="as `auth-cache-duration`",
    ),
    Option(
        name="global-auth-always-set-cookie",
        sources=CLUSTER,
        fills=(GlobalAuthSettings, "always_sets_cookie"),
        grammar=go_boolean,
        default="false",
        doc="as `auth-always-set-cookie`",
    ),
)

"""Options about auth services, which are asked about each request: of one Ingress, and of all of them.

Source: ingress-nginx v1.15.1, annotations auth-url and its kin, ConfigMap keys global-auth-*. A value that would
leave requests unjudged, or judged in another way, closes paths. It must not know how a service is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
from ingress.settings.table.option import (
    OWN_PREFIX,
    Option,
    Overrides,
    cluster_option,
    ingress_option,
    ingress_switch,
    route_switch,
)
from ingress.settings.unsupported import Loss, closing
from ingress.settings.values import go_boolean, integer

_UNASKED = closing(Severity.UNPROTECTED, "nobody is asked who they are")
_ASKED_OTHERWISE = closing(Severity.UNPROTECTED, "the auth service is asked in another way")
_SAID_BY_CLIENTS = closing(Severity.UNPROTECTED, "clients may send fields that only the auth service should set")
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


def _of_all(name: str, field: str, grammar: Callable[[str], Any], **more: Any) -> Option:
    """The option `global-…` that says of the service of the cluster what the option `name` says of an own one."""
    fills = (GlobalAuthSettings, field)
    return cluster_option(name=f"global-{name}", fills=fills, grammar=grammar, doc=f"as `{name}`", **more)


EXTERNAL_AUTH_OPTIONS = (
    ingress_option(
        name="auth-url",
        fills=(ExternalAuthSettings, "url"),
        grammar=url,
        doc="URL of the auth service that is asked about each request, with [variables](external-auth.md). 2xx lets"
        " the request pass, 401 and 403 refuse it, anything else is 500",
        if_invalid=_UNASKED,
    ),
    ingress_option(
        name="auth-method",
        fills=(ExternalAuthSettings, "method"),
        grammar=method,
        doc="method of the request to the service, `GET` without it; also adds `X-Original-URI` and `X-Scheme`",
        if_invalid=_ASKED_OTHERWISE,
    ),
    ingress_option(
        name="auth-signin",
        fills=(ExternalAuthSettings, "signin"),
        grammar=page,
        doc="URL to which a 401 of the service redirects (302), with variables. An unknown variable closes the paths",
        if_invalid=_UNREDIRECTED,
    ),
    ingress_option(
        name="auth-signin-redirect-param",
        fills=(ExternalAuthSettings, "signin_param"),
        grammar=parameter,
        doc="parameter of that URL that says where the client wanted to go, `rd` without it",
    ),
    ingress_option(
        name="auth-response-headers",
        fills=(ExternalAuthSettings, "response_fields"),
        grammar=response_fields,
        doc="comma list of fields that the endpoint gets from the answer of the service, and never from the client",
        if_invalid=_SAID_BY_CLIENTS,
    ),
    ingress_option(
        name="auth-request-redirect",
        fills=(ExternalAuthSettings, "request_redirect"),
        grammar=text,
        doc="value of `X-Auth-Request-Redirect` for the service, with variables; without it the request target",
    ),
    ingress_option(
        name="auth-proxy-set-headers",
        fills=(ExternalAuthSettings, "fields_from"),
        grammar=config_map_reference,
        doc="name of a ConfigMap of the same namespace, whose data are fields that the service gets, with variables."
        " Without it the paths are closed",
        if_invalid=_ASKED_OTHERWISE,
    ),
    ingress_option(
        name="auth-cache-key",
        fills=(ExternalAuthSettings, "cache_key"),
        grammar=cache_key,
        doc="text with variables: answers of the service are remembered for each host, path of the Ingress and value."
        " Without it nothing is remembered",
        if_invalid=_UNCACHED,
    ),
    ingress_option(
        name="auth-cache-duration",
        fills=(ExternalAuthSettings, "cache_seconds"),
        grammar=cache_seconds,
        doc="comma list of statuses and a time such as `200 202 10m, 401 1m`; `200 202 401 5m` without it",
        if_invalid=closing(Severity.UNPROTECTED, "answers are remembered for another time"),
    ),
    ingress_switch(
        name="auth-always-set-cookie",
        fills=(ExternalAuthSettings, "always_sets_cookie"),
        doc='`"true"`: cookies of the service also come with errors of endpoints, and with refusals',
    ),
    ingress_option(
        name="auth-keepalive",
        fills=None,
        grammar=integer(-(10**9)),
        doc="without effect: connections to the service are kept and bounded in any case",
    ),
    *(
        ingress_option(name=name, fills=None, grammar=integer(-(10**9)), doc="without effect, likewise")
        for name in ("auth-keepalive-requests", "auth-keepalive-timeout")
    ),
    ingress_switch(
        name="auth-keepalive-share-vars",
        fills=None,
        doc="without effect, likewise",
    ),
    route_switch(
        name="auth-url-verify",
        fills=(ExternalAuthSettings, "verify"),
        prefix=OWN_PREFIX,
        doc='`"true"`: the certificate of an https auth service is verified with the roots of the system. As in'
        " ingress-nginx it is not without this option",
        if_invalid=closing(Severity.UNPROTECTED, "the certificate of the auth service is not verified"),
    ),
    ingress_switch(
        name="enable-global-auth",
        fills=(ExternalAuthSettings, "uses_global"),
        doc='`"false"`: the service of `global-auth-url` is not asked',
    ),
    cluster_option(
        name="global-auth-url",
        fills=(GlobalAuthSettings, "url"),
        grammar=url,
        doc="the auth service of every Ingress without an own `auth-url`, unless `enable-global-auth` is `false`",
        if_invalid=_UNASKED,
    ),
    _of_all("auth-method", "method", method, if_invalid=_ASKED_OTHERWISE),
    _of_all("auth-signin", "signin", page, if_invalid=_UNREDIRECTED),
    _of_all("auth-signin-redirect-param", "signin_param", parameter, default="rd"),
    _of_all("auth-response-headers", "response_fields", response_fields, if_invalid=_SAID_BY_CLIENTS),
    _of_all("auth-request-redirect", "request_redirect", text),
    _of_all("auth-cache-key", "cache_key", cache_key, if_invalid=_UNCACHED),
    _of_all("auth-cache-duration", "cache_seconds", cache_seconds, default="200 202 401 5m"),
    _of_all("auth-always-set-cookie", "always_sets_cookie", go_boolean, default="false"),
)

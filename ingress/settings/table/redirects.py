"""Options about redirects that zonal answers itself, and about further names of a host.

Responsible for the options and for the structs that they fill. It must not know how redirects are answered. Sources:
ingress-nginx v1.15.1, annotations/redirect, annotations/rewrite and annotations/alias.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from balancer.model.redirects import HttpsRedirect, UrlForm
from ingress.findings import Severity
from ingress.settings.table.option import cluster_option, ingress_option, route_switch
from ingress.settings.unsupported import Loss, closing
from ingress.settings.values import InvalidValue, blank_or_boolean, boolean, integer, path_prefixes

PERMANENT_STATUS, TEMPORAL_STATUS = 301, 302
"""The statuses of permanent-redirect and temporal-redirect where no other is set."""

_HTTPS_PORT = 443
_HTTPS_STATUSES = frozenset({301, 302, 307, 308})
# parser.URLIsValidRegex: the characters that ingress-nginx takes in the target of a redirect. A `$` is none of them.
_TARGET = re.compile(r"[-._~a-zA-Z0-9/:,?&=]{1,2048}")
# The characters of rewrite-target but `$`: there are no groups that a variable could stand for.
_ROOT = re.compile(r"/[-._~a-zA-Z0-9/:]{0,2047}")
# parser.ValidateServerName: names, wildcards and nginx's regular expressions.
_NAME = re.compile(r"[-._~a-zA-Z0-9/:^$\[\](){}*+?|&=\\]{1,512}")
# Each name is a host of its own, with all the routes of the host. A certificate has room for no more names.
_NAMES_MOST = 100

_PLAIN_HTTP = "requests over plain HTTP may be served where https was meant"
_BACKEND_ANSWERS = closing(Severity.MISROUTED, "the backend answers instead of the redirect")
_FORM = Loss(Severity.DEGRADED, "redirects have the form that is the default")


class Redirects(msgspec.Struct, frozen=True):
    """Which requests over plain HTTP are redirected to https, and the form of redirects.

    `status` is that of redirects to https and to the other name with or without `www.`. `relative`: a target that is a
    path is sent as it is. `ports`: redirects name the port of the listener, which is `http_port` or `https_port`; 0 is
    the port of the scheme. `to_slash`: paths without their final slash are redirected to the path that has one.
    """

    ssl_redirect: bool = True
    force_ssl_redirect: bool = False
    plain_http_paths: tuple[str, ...] = ("/.well-known/acme-challenge",)
    status: int = 308
    preserve_trailing_slash: bool = False
    relative: bool = False
    ports: bool = False
    http_port: int = 0
    https_port: int = 0
    to_slash: bool = False

    def to_https(self, path: str, *, has_tls: bool) -> bool:
        """Whether the route of an Ingress at `path` redirects; `has_tls`: its host has a TLS section.

        As in ingress-nginx ssl-redirect needs a TLS section, and neither redirect touches a path of an Ingress that
        begins with one of `no-tls-redirect-locations`: an ACME server asks for challenges over plain HTTP (RFC 8555
        8.3).
        """
        redirects = self.force_ssl_redirect or (self.ssl_redirect and has_tls)
        return redirects and not path.startswith(self.plain_http_paths)

    @property
    def https_rule(self) -> HttpsRedirect:
        """The redirect to https. It prints the port even if that is 443, as ingress-nginx does (lua_ingress.lua)."""
        port = (self.https_port or _HTTPS_PORT) if self.ports else 0
        return HttpsRedirect(self.status, port, self.preserve_trailing_slash)

    @property
    def form(self) -> UrlForm:
        """The form of URLs of the own host."""
        return UrlForm(self.relative, self.http_port, self.https_port) if self.ports else UrlForm(self.relative)


class RedirectTargets(msgspec.Struct, frozen=True):
    """Where an Ingress redirects the requests of its paths; empty texts redirect nothing.

    `app_root` is for requests of the path `/`. `www`: the other name of each host, with or without `www.`, redirects to
    the host.
    """

    permanent: str = ""
    permanent_status: int = PERMANENT_STATUS
    temporal: str = ""
    temporal_status: int = TEMPORAL_STATUS
    app_root: str = ""
    www: bool = False


class HostAliases(msgspec.Struct, frozen=True):
    """Further names of the hosts of an Ingress, as they are written but in lower case. Some may be no host names."""

    names: tuple[str, ...] = ()


def redirect_target(text: str) -> str:
    """The target of a redirect: a URL or a path; blank text is none."""
    if text.strip() and not _TARGET.fullmatch(text.strip()):
        raise InvalidValue("use a URL of letters, digits and -._~/:,?&=, without variables")
    return text.strip()


def app_root(text: str) -> str:
    """A path; blank text is none. A URL is refused, as in ingress-nginx."""
    if text.strip() and not _ROOT.fullmatch(text.strip()):
        raise InvalidValue("use a path that begins with / and consists of letters, digits and -._~/:")
    return text.strip()


def https_status(text: str) -> int:
    """One of the statuses that ingress-nginx takes for http-redirect-code."""
    status = integer(0)(text)
    if status not in _HTTPS_STATUSES:
        raise InvalidValue("use 301, 302, 307 or 308")
    return status


def server_names(text: str) -> tuple[str, ...]:
    """A comma list of names, in lower case and without repetitions."""
    names = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))
    if len(names) > _NAMES_MOST or not all(_NAME.fullmatch(name) for name in names):
        raise InvalidValue(f"use a comma list of at most {_NAMES_MOST} host names")
    return names


def _status(default: int) -> Callable[[str], int]:
    """A parser of statuses. It takes any number, because ingress-nginx answers with the default out of range."""

    def parse(text: str) -> int:
        return integer(0)(text) if text else default

    return parse


REDIRECT_OPTIONS = (
    route_switch(
        name="ssl-redirect",
        fills=(Redirects, "ssl_redirect"),
        default="true",
        doc="redirect to https where the host has a `tls` section",
        # Closes nothing, because the default redirects, unless the operator has set another for the cluster.
        if_invalid=Loss(Severity.UNPROTECTED, _PLAIN_HTTP),
    ),
    route_switch(
        name="force-ssl-redirect",
        fills=(Redirects, "force_ssl_redirect"),
        doc="redirect to https everywhere",
        if_invalid=closing(Severity.UNPROTECTED, _PLAIN_HTTP),
    ),
    cluster_option(
        name="no-tls-redirect-locations",
        fills=(Redirects, "plain_http_paths"),
        grammar=path_prefixes,
        default="/.well-known/acme-challenge",
        doc="comma list of beginnings of paths; such paths of Ingresses are never redirected to https",
    ),
    cluster_option(
        name="redirect-to-trailing-slash",
        fills=(Redirects, "to_slash"),
        grammar=boolean,
        default="false",
        doc='`"true"`: a request for `/a` is redirected with 301 to `/a/` if only `/a/` is a path of the host, as in'
        " ingress-nginx. Otherwise the prefix `/a/` matches `/a`, and the exact path `/a/` does not, as in Kubernetes",
    ),
    cluster_option(
        name="http-redirect-code",
        fills=(Redirects, "status"),
        grammar=https_status,
        default="308",
        doc="status of redirects to https and of `from-to-www-redirect`: 301, 302, 307 or 308",
        if_invalid=Loss(Severity.DEGRADED, "redirects have the status 308"),
    ),
    route_switch(
        name="preserve-trailing-slash",
        fills=(Redirects, "preserve_trailing_slash"),
        doc="the redirect to https keeps a slash at the end of the path",
        if_invalid=_FORM,
    ),
    route_switch(
        name="relative-redirects",
        fills=(Redirects, "relative"),
        doc="targets of `permanent-redirect`, `temporal-redirect` and `proxy-redirect-to` that are paths are sent as"
        " they are, without scheme and host",
        if_invalid=_FORM,
    ),
    route_switch(
        name="use-port-in-redirects",
        fills=(Redirects, "ports"),
        doc="redirects to the own host name the port of the listener (`--http-port`, `--https-port`)",
        if_invalid=_FORM,
    ),
    ingress_option(
        name="permanent-redirect",
        fills=(RedirectTargets, "permanent"),
        grammar=redirect_target,
        doc="URL or path to which every request is redirected, over http and https, even without its Service; the path"
        " of the request is not added",
        if_invalid=_BACKEND_ANSWERS,
    ),
    ingress_option(
        name="permanent-redirect-code",
        fills=(RedirectTargets, "permanent_status"),
        grammar=_status(PERMANENT_STATUS),
        default="301",
        doc="status of `permanent-redirect`: 300, 301, 302, 303, 307 or 308; other numbers count as 301",
        if_invalid=_BACKEND_ANSWERS,
    ),
    ingress_option(
        name="temporal-redirect",
        fills=(RedirectTargets, "temporal"),
        grammar=redirect_target,
        doc="URL with http or https, likewise; counts before `permanent-redirect`. Any other value takes back"
        " `permanent-redirect` and `from-to-www-redirect`, too, as in ingress-nginx",
        if_invalid=_BACKEND_ANSWERS,
    ),
    ingress_option(
        name="temporal-redirect-code",
        fills=(RedirectTargets, "temporal_status"),
        grammar=_status(TEMPORAL_STATUS),
        default="302",
        doc="status of `temporal-redirect`: 300, 301, 302, 303 or 307; other numbers count as 302",
        if_invalid=_BACKEND_ANSWERS,
    ),
    ingress_option(
        name="app-root",
        fills=(RedirectTargets, "app_root"),
        grammar=app_root,
        doc="path to which requests of exactly `/` are redirected with 302, also where no path `/` exists",
        if_invalid=Loss(Severity.MISROUTED, "the backend answers the path / instead of a redirect"),
    ),
    ingress_option(
        name="from-to-www-redirect",
        fills=(RedirectTargets, "www"),
        grammar=blank_or_boolean,
        doc='`"true"`: the other name of each host, with or without `www.`, redirects to the host, unless an Ingress'
        " has the other name. Over https this needs a certificate for both names",
        if_invalid=closing(Severity.MISROUTED, "the other name, with or without www., is not redirected"),
    ),
    ingress_option(
        name="server-alias",
        fills=(HostAliases, "names"),
        grammar=server_names,
        doc="comma list of at most 100 further names of the hosts of the Ingress, or `*.` and a name, where `*` stands"
        " for one label. They get all paths of the host. Names that an Ingress has as a host are left out, and so are"
        " regular expressions. Of several Ingresses with the host, the list of the oldest counts, if no other"
        " namespace has the host first",
        if_invalid=closing(Severity.MISROUTED, "the other host names are not served"),
    ),
)

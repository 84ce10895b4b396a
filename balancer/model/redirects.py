"""Redirects in the model, which the proxy answers itself: one struct for each kind, and the form of their URLs."""

from __future__ import annotations

import msgspec

from balancer.model.rewriting import PathReplacement


class UrlForm(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The form of URLs of the own host (ingress-nginx: relative-redirects, use-port-in-redirects).

    `relative`: a path is sent as it is. Otherwise scheme and host of the request are put before the path, with
    `http_port` or `https_port` unless that is 0 or the default of the scheme.
    """

    relative: bool = False
    http_port: int = 0
    https_port: int = 0


class HttpsRedirect(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="https_redirect"):
    """Redirects requests over plain HTTP to the same target over https (ssl-redirect, force-ssl-redirect).

    `port` is printed; 0 prints none. `keeps_slash`: a slash at the end of the path stays.
    """

    status: int = 308
    port: int = 0
    keeps_slash: bool = False


class AppRoot(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="app_root"):
    """Redirects requests of exactly `/` to the path `target` of the same host (app-root)."""

    target: str


class NameRedirect(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="name_redirect"):
    """Redirects every request to the same target at `host` (from-to-www-redirect)."""

    host: str
    status: int = 308


class TargetRedirect(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="target_redirect"):
    """Redirects every request to `target` (permanent-redirect, temporal-redirect): a URL, or a path in `form`."""

    target: str
    status: int = 301
    form: UrlForm = UrlForm()


class SlashRedirect(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="slash_redirect"):
    """Redirects every request to its path with a slash at the end, in `form` (nginx, where only that is a path)."""

    form: UrlForm = UrlForm()


class RewrittenRedirect(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="rewritten_redirect"):
    """Redirects requests in whose path `expression` is found to a URL (rewrite-target that begins with a scheme).

    `target` is as in `Rewriting`, and begins with `http://`, `https://` or `$scheme`.
    """

    target: str
    expression: str


class RouteRedirect(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="route_redirect"):
    """Redirects every request of a route; what is not said here stays as in the request.

    `port` 0: that of `scheme`, or without one that of the entry point. A port that is that of the scheme is not named.
    """

    scheme: str = ""
    host: str = ""
    port: int = 0
    path: PathReplacement | None = None
    status: int = 302

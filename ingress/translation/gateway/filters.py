"""Whether the filters of a rule can be carried out. One that cannot be is never skipped: its requests get an error."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from balancer.http.looping import LOOP_FIELDS
from ingress.objects.gateway_routes import HeaderModifier, PathModifier, RequestMirror, RequestRedirect, RouteFilter

PORT_MOST: Final = 65535
REDIRECT_STATUSES: Final = frozenset((301, 302, 303, 307, 308))
# RFC 9110 5.6.2 and 5.5: a token; visible characters, spaces and tabs.
_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_PATH: Final = re.compile(r"/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*")
_HOST: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
# gateway.networking.k8s.io/v1 CORSOrigin.
_ORIGIN: Final = re.compile(r"\*|[A-Za-z][A-Za-z0-9+.-]*://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.*-]+)(?::[0-9]{1,5})?")
# They frame a message, belong to one connection (RFC 9110 7.6.1), or end loops (RFC 8586 2); Host is for URLRewrite.
_KEPT: Final = frozenset(
    (
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "http2-settings",
        *(name.decode() for name in LOOP_FIELDS),
    )
)

# What may occur only once in a list.
_ONCE: Final = frozenset(
    ("RequestHeaderModifier", "ResponseHeaderModifier", "RequestRedirect", "URLRewrite", "CORS", "ExternalAuth")
)


def is_free_name(name: str) -> bool:
    """Whether a field may have this name without a meaning for the connection or the frame of a message."""
    return _NAME.fullmatch(name) is not None and name.lower() not in _KEPT


def filters_problem(filters: Sequence[RouteFilter], *, prefix_only: bool) -> str | None:
    """Why the filters of one rule or backend cannot be carried out; None if they can.

    `prefix_only`: every match of the rule has a prefix, which a filter may replace.
    """
    types = Counter(each.type for each in filters)
    if twice := sorted(each for each, count in types.items() if each in _ONCE and count > 1):
        return f"The filter {twice[0]} occurs twice: merge the two."
    if "RequestRedirect" in types and "URLRewrite" in types:
        return "The filters RequestRedirect and URLRewrite exclude each other: remove one of them."
    for each in filters:
        if (problem := _problem(each, prefix_only=prefix_only)) is not None:
            return problem
    return None


def _problem(item: RouteFilter, *, prefix_only: bool) -> str | None:
    if (judge := _JUDGES.get(item.type)) is None:
        return f"The filter {item.type!r} is not known: correct or remove it."
    return judge(item, prefix_only)


def _silent(item: RouteFilter) -> str:
    return f"The filter {item.type} says nothing: correct or remove it."


def _redirect_problem(redirect: RequestRedirect, *, prefix_only: bool) -> str | None:
    if redirect.status_code not in REDIRECT_STATUSES:
        return f"A redirect with the status {redirect.status_code} is not supported: use 301, 302, 303, 307 or 308."
    if redirect.scheme not in {"", "http", "https"}:
        return f"A redirect to the scheme {redirect.scheme!r} is not supported: use http or https."
    if not 0 <= redirect.port <= PORT_MOST:
        return f"A redirect to the port {redirect.port} is not possible: use another one."
    return _host_problem(redirect.hostname) or _path_problem(redirect.path, prefix_only=prefix_only)


def _modifier_problem(name: str, modifier: HeaderModifier) -> str | None:
    fields: Iterable[tuple[str, str]] = [(each.name, each.value) for each in (*modifier.set, *modifier.add)]
    for field, value in (*fields, *((each, "") for each in modifier.remove)):
        if not _NAME.fullmatch(field) or not _VALUE.fullmatch(value):
            return f"The filter {name} has a header field that is none: correct it."
        if field.lower() in _KEPT:
            return f"The filter {name} must not change {field}, which belongs to a connection or a message: remove it."
    return None


def _mirror_problem(mirror: RequestMirror) -> str | None:
    if mirror.percent is not None and not 0 <= mirror.percent <= 100:
        return f"A mirror of {mirror.percent} percent is not possible: use 0 to 100."
    share = mirror.fraction
    if share is not None and not 0 <= share.numerator <= share.denominator:
        return f"A mirror of {share.numerator} of {share.denominator} is not possible: use a share of at most 1."
    return None


def _host_problem(hostname: str) -> str | None:
    if hostname and not _HOST.fullmatch(hostname):
        return f"The hostname {hostname!r} of a filter is none: correct it."
    return None


def _path_problem(path: PathModifier | None, *, prefix_only: bool) -> str | None:
    if path is None:
        return None
    if path.type == "ReplaceFullPath" and path.replace_full_path is not None:
        text = path.replace_full_path
    elif path.type == "ReplacePrefixMatch" and path.replace_prefix_match is not None:
        if not prefix_only:
            return "ReplacePrefixMatch needs a match of the type PathPrefix: use ReplaceFullPath."
        text = path.replace_prefix_match
    else:
        return f"The path modifier {path.type!r} is not known or says nothing: correct it."
    if text and not _PATH.fullmatch(text):
        return f"The path {text!r} of a filter is none: begin with / and encode what is special."
    return None


def _judge_request_fields(item: RouteFilter, _: bool) -> str | None:
    modifier = item.request_header_modifier
    return _silent(item) if modifier is None else _modifier_problem(item.type, modifier)


def _judge_response_fields(item: RouteFilter, _: bool) -> str | None:
    modifier = item.response_header_modifier
    return _silent(item) if modifier is None else _modifier_problem(item.type, modifier)


def _judge_mirror(item: RouteFilter, _: bool) -> str | None:
    return _silent(item) if item.request_mirror is None else _mirror_problem(item.request_mirror)


def _judge_redirect(item: RouteFilter, prefix_only: bool) -> str | None:
    redirect = item.request_redirect
    return _silent(item) if redirect is None else _redirect_problem(redirect, prefix_only=prefix_only)


def _judge_rewrite(item: RouteFilter, prefix_only: bool) -> str | None:
    rewrite = item.url_rewrite
    if rewrite is None:
        return _silent(item)
    return _host_problem(rewrite.hostname) or _path_problem(rewrite.path, prefix_only=prefix_only)


def _judge_cors(item: RouteFilter, _: bool) -> str | None:
    if (cors := item.cors) is None:
        return _silent(item)
    for origin in cors.allow_origins:
        if not _ORIGIN.fullmatch(origin):
            return f"The origin {origin!r} of the filter CORS is none: write it as https://shop.example."
    for name in (*cors.allow_methods, *cors.allow_headers, *cors.expose_headers):
        if not _NAME.fullmatch(name):
            return f"{name!r} in the filter CORS is no name of a method or header field: correct it."
    return None


def _judge_external_auth(item: RouteFilter, _: bool) -> str | None:
    if (auth := item.external_auth) is None:
        return _silent(item)
    if auth.protocol != "HTTP":
        return f"The protocol {auth.protocol!r} of the filter ExternalAuth is not supported: use HTTP."
    if auth.forward_body.max_size:
        return "The filter ExternalAuth wants bodies to be judged, which is not supported: remove forwardBody."
    if auth.http.path and not _PATH.fullmatch(auth.http.path):
        return f"The path {auth.http.path!r} of the filter ExternalAuth is none: begin with /."
    for name in (*auth.http.allowed_headers, *auth.http.allowed_response_headers):
        if not is_free_name(name):
            return f"{name!r} in the filter ExternalAuth is no field that may be passed on: remove it."
    return None


def _leave_to_extensions(item: RouteFilter, _: bool) -> str | None:
    """What an extension is decides whether it can be carried out (`extensions`)."""
    del item
    return None


_JUDGES: Final[Mapping[str, Callable[[RouteFilter, bool], str | None]]] = {
    "RequestHeaderModifier": _judge_request_fields,
    "ResponseHeaderModifier": _judge_response_fields,
    "RequestMirror": _judge_mirror,
    "RequestRedirect": _judge_redirect,
    "URLRewrite": _judge_rewrite,
    "CORS": _judge_cors,
    "ExternalAuth": _judge_external_auth,
    "ExtensionRef": _leave_to_extensions,
}

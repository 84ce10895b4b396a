"""From filters that change where requests go to redirects and rewritings of the model.

All texts are literal. A prefix that is replaced is that of the match, so each match of a rule has its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from balancer.model.redirects import RouteRedirect
from balancer.model.rewriting import PathReplacement
from ingress.objects.gateway_routes import PathModifier, RequestMirror, RouteFilter


def redirect_of(filters: Iterable[RouteFilter], prefix: str) -> RouteRedirect | None:
    """The redirect of a rule whose match has this prefix; None: there is none."""
    for each in filters:
        if each.type == "RequestRedirect" and (said := each.request_redirect) is not None:
            path = _replacement(said.path, prefix)
            return RouteRedirect(said.scheme, said.hostname, said.port, path, said.status_code)
    return None


def rewriting_of(filters: Iterable[RouteFilter], prefix: str) -> tuple[PathReplacement | None, str | None]:
    """The path and the host that endpoints get; None: those of the client."""
    for each in filters:
        if each.type == "URLRewrite" and (said := each.url_rewrite) is not None:
            return _replacement(said.path, prefix), said.hostname or None
    return None, None


def _replacement(path: PathModifier | None, prefix: str) -> PathReplacement | None:
    if path is None:
        return None
    if path.type == "ReplaceFullPath":
        return PathReplacement(path.replace_full_path or "/")
    return PathReplacement(path.replace_prefix_match or "", prefix)


def share_of(mirror: RequestMirror) -> tuple[int, int]:
    """Of how many requests copies are made: the numerator and the denominator."""
    if mirror.percent is not None:
        return mirror.percent, 100
    if mirror.fraction is not None:
        return mirror.fraction.numerator, max(1, mirror.fraction.denominator)
    return 100, 100

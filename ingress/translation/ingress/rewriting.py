"""Decides what `rewrite-target` and `use-regex` make of one path of an Ingress.

Source: ingress-nginx internal/ingress/controller/template/template.go (needsRewrite, buildProxyPass) and location.go.
Does not know other Ingresses, nor the syntax of expressions.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from balancer.model.rewriting import Rewriting
from balancer.model.routes import PathKind
from ingress.settings.table.rewriting import RewriteSettings


class PathMeaning(NamedTuple):
    """`is_expression`: the path is written as an expression. `rewriting` None: the target stays."""

    is_expression: bool = False
    rewriting: Rewriting | None = None


def meaning_of(path: str, kind: PathKind, settings: RewriteSettings) -> PathMeaning:
    """The meaning of a path under the annotations of its Ingress.

    A target that is the path itself changes nothing. But for a Prefix path ingress-nginx serves a second path with a
    final slash, and the target differs from that one.
    """
    rewriting = Rewriting(settings.target, forwarded_prefix=settings.forwarded_prefix)
    if settings.target and settings.target != path:
        return PathMeaning(True, rewriting)
    if not settings.target or settings.use_regex or kind is PathKind.EXACT or path.endswith("/"):
        return PathMeaning(settings.use_regex)
    return PathMeaning(False, msgspec.structs.replace(rewriting, expression=path + "/"))

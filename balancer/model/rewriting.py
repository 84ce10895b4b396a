"""Rewriting in the model: which target endpoints get instead of the one that the client sent."""

from __future__ import annotations

import msgspec


class Rewriting(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="rewriting"):
    """The path of the target that endpoints get (ingress-nginx: rewrite-target). The query stays.

    In `target`, `$1` to `$9` and `$name` stand for what groups captured of the normalised path, and other `$name` for a
    variable of the request. Groups are those of `expression`, which is searched in the path; the path stays where it is
    not found. Empty: groups are those of the route's own expression. `forwarded_prefix` is sent as X-Forwarded-Prefix
    with a rewritten target, in place of the client's; empty sends none.
    """

    target: str
    expression: str = ""
    forwarded_prefix: str = ""


class PathReplacement(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="path_replacement"):
    """A literal path instead of that of the request, or of its `prefix`; the query stays.

    `prefix` None: the whole path is replaced. Otherwise it is the prefix by elements that the route has matched, and
    what follows stays. A slash at the end of `path` or `prefix` does not count then. `path` is as in a request target.
    """

    path: str
    prefix: str | None = None

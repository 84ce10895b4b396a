"""Replaces the path of a target, or the prefix of it that a route matched, by literal text. No I/O.

Source: gateway.networking.k8s.io/v1 HTTPPathModifier. What follows the prefix stays as the client wrote it, unless an
endpoint could leave the new prefix with it: then it is what routes were matched against, encoded anew.
"""

from __future__ import annotations

import re

import msgspec

from balancer.errors import ErrorKind
from balancer.http.messages import Fields, RequestHead
from balancer.http.streams import Outgoing
from balancer.matching.rewriting import encoded
from balancer.model.rewriting import PathReplacement

_DOT, _PERCENT = b".%"  # integers, because `in` costs ten times as much with bytes
_DOT_SEGMENT = re.compile(rb"(?:/|%2f|%5c)(?:\.|%2e){1,2}(?:/|%2f|%5c|\Z)", re.IGNORECASE)


class PathReplacer:
    """Replaces paths. It is made at the swap and keeps nothing of a request. A path that is all gone is `/`."""

    __slots__ = ("_path", "_prefix", "added")

    def __init__(self, rule: PathReplacement) -> None:
        self.added: Fields = ()
        """No field says that a path was replaced."""
        self._prefix = None if rule.prefix is None else rule.prefix.removesuffix("/").encode()
        path = rule.path.encode("ascii")
        self._path = path if self._prefix is None else path.removesuffix(b"/")

    def replaced(self, request: RequestHead) -> bytes:
        """The target of `request` with its new path, and its query as the client wrote it.

        The target `*` is that of the whole server and stays (RFC 9112 3.2.4).
        """
        prefix, target = self._prefix, request.target
        if prefix is not None and target.startswith(prefix):
            rest = target[len(prefix) :]
            if rest[:1] == b"/" and _DOT not in rest and _PERCENT not in rest:
                return self._path + rest  # nearly every target: nothing in it can be a dot segment
        if target == b"*":
            return target
        path, mark, query = target.partition(b"?")
        if self._prefix is None:
            return (self._path or b"/") + mark + query
        normalised = request.path
        return (self._path + self._rest(normalised, path) or b"/") + mark + query

    def rewrite(self, outgoing: Outgoing, captures: tuple[bytes, ...]) -> ErrorKind | None:
        """Gives `outgoing` the new target. Returns None, because nothing speaks against it."""
        outgoing.request = self.rewritten(outgoing.request, "", captures)
        return None

    def rewritten(self, request: RequestHead, peer: str, captures: tuple[bytes, ...]) -> RequestHead:
        """`request` with the new target. `peer` and `captures` have no part in it."""
        return msgspec.structs.replace(request, target=self.replaced(request))

    def _rest(self, path: bytes, raw: bytes) -> bytes:
        """What follows the prefix: of `raw` as the client wrote it, or of the normalised `path`."""
        prefix = self._prefix or b""
        rest = raw[len(prefix) :]
        if raw.startswith(prefix) and rest[:1] in (b"", b"/") and not _DOT_SEGMENT.search(rest):
            return rest
        return encoded(path[len(prefix) :])

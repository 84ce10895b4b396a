"""Rewrites the path of a target, as nginx does for `rewrite … break` (ngx_http_rewrite_module).

A target is compiled at the swap. Captures come from the decoded path of a client, so a rewritten path is encoded anew:
no capture ends the path, begins a query or holds a byte that a request target may not hold (RFC 9112 3.2.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import Fields, RequestHead
from balancer.http.streams import Outgoing
from balancer.matching.regexes import Pattern, compile_caseless
from balancer.matching.variables import TextOf, UnknownVariable, compile_variable
from balancer.model.rewriting import Rewriting

# nginx ngx_escape_uri, NGX_ESCAPE_URI: what it encodes when it sends a changed URI to an endpoint.
_ENCODED = re.compile(rb'[\x00-\x20\x7f-\xff"#%<>?\\^`{|}]')
_REFERENCE = re.compile(r"\$([1-9]|[a-zA-Z0-9_]+|)")
_NAME = re.compile(r"\$[a-zA-Z_]")
_DOT_SEGMENT = re.compile(rb"/\.{1,2}(?:/|\Z)")
_FILLED_BYTES_MOST = 32 * 1024  # four times the longest path that is taken by default
_PREFIX_FIELD = b"X-Forwarded-Prefix"

Part = bytes | int | TextOf
"""A part of a target: text, the place of a group, or a variable."""


class UnknownReference(ValueError):
    """A target names a group or variable that does not exist. The message names it."""


def compile_target(target: str, names: Mapping[str, int]) -> tuple[Part, ...]:
    """The parts of `target`. `names` are the named groups of the expression. Raises `UnknownReference`.

    A digit from 1 to 9 behind `$` is the whole reference, as in nginx: `$10` is the first group and a zero.
    """
    parts: list[Part] = []
    end = 0
    for found in _REFERENCE.finditer(target):
        parts += _text(target[end : found.start()])
        parts.append(_reference(found[1], names))
        end = found.end()
    return (*parts, *_text(target[end:]))


def encoded(path: bytes) -> bytes:
    """A decoded path as it stands in a request target."""
    return _ENCODED.sub(lambda found: b"%%%02X" % found[0][0], path)


class Filling:
    """Fills a compiled target with what one request says."""

    __slots__ = ("_parts", "_pattern")

    def __init__(self, target: str, own: str, searched: str) -> None:
        """`own` is the expression of the route and `searched` what to search instead; both may be empty."""
        self._pattern: Pattern | None = compile_caseless(searched) if searched else None
        names: Mapping[str, int] = {}
        if _NAME.search(target) and (searched or own):
            names = compile_caseless(searched or own).names
        self._parts = compile_target(target, names)

    def fill(self, request: RequestHead, peer: str, captures: tuple[bytes, ...]) -> list[bytes] | None:
        """The filled parts, or None if the expression is not found in the path. A group that does not exist is empty.

        `captures` are those of the route's own expression. Raises `Refusal`: a target may name a group often, so a
        long path could make a target that is many times as long.
        """
        if self._pattern is not None:
            found = self._pattern.captures(request.path)
            if found is None:
                return None
            captures = found
        filled = [_filled(part, request, peer, captures) for part in self._parts]
        if sum(map(len, filled)) > _FILLED_BYTES_MOST:
            raise Refusal(ErrorKind.TARGET_TOO_LONG, "a rewritten path that is too long")
        return filled


class Rewriter:
    """Rewrites the requests of one route. It is made at the swap and keeps nothing of a request.

    Endpoints get the `added` fields and none of the client's fields named in `removed`, where the target is rewritten.
    """

    __slots__ = ("_filling", "added", "removed")

    def __init__(self, rewriting: Rewriting, own_expression: str) -> None:
        self._filling = Filling(rewriting.target, own_expression, rewriting.expression)
        prefix = rewriting.forwarded_prefix.encode()
        self.added: Fields = ((_PREFIX_FIELD, prefix),) if prefix else ()
        self.removed: frozenset[bytes] = frozenset((_PREFIX_FIELD.lower(),)) if prefix else frozenset()

    def rewrite(self, outgoing: Outgoing, captures: tuple[bytes, ...]) -> ErrorKind | None:
        """Gives `outgoing` the new target and its fields if its path is rewritten. Returns why it may not be sent."""
        try:
            request = self.rewritten(outgoing.request, outgoing.origin.peer, captures)
        except Refusal as refusal:
            return refusal.kind
        if request is not None:
            outgoing.request = request
            outgoing.added += self.added
            outgoing.removed |= self.removed
        return None

    def rewritten(self, request: RequestHead, peer: str, captures: tuple[bytes, ...]) -> RequestHead | None:
        """`request` with the new target, or None if this path is not rewritten.

        `peer` is the client's address, and `captures` are those of the match. Raises `Refusal` as `Filling.fill`, and
        for dot segments: with these a client could leave the path that the operator means.
        """
        parts = self._filling.fill(request, peer, captures)
        if parts is None:
            return None
        path = b"".join(parts)
        if path[:1] != b"/":
            path = b"/" + path  # nginx would send a target that is no HTTP
        if _DOT_SEGMENT.search(path):
            raise Refusal(ErrorKind.BAD_REQUEST, "dot segments in a rewritten path")
        _, mark, query = request.target.partition(b"?")
        return msgspec.structs.replace(request, target=encoded(path) + mark + query)


def _reference(name: str, names: Mapping[str, int]) -> Part:
    if name in names:
        return names[name] - 1
    if len(name) == 1 and name.isdigit() and name != "0":
        return int(name) - 1
    try:
        return compile_variable(name)
    except UnknownVariable as problem:
        raise UnknownReference(str(problem)) from None


def _filled(part: Part, request: RequestHead, peer: str, captures: tuple[bytes, ...]) -> bytes:
    if isinstance(part, bytes):
        return part
    if isinstance(part, int):
        return captures[part] if part < len(captures) else b""
    return part(request, peer)


def _text(text: str) -> list[Part]:
    return [text.encode()] if text else []

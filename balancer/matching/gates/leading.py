"""A request whose path a script has changed on its way: which route serves it now, and what its endpoint gets.

Source: nginx ngx_http_core_module.c, ngx_http_core_post_rewrite_phase: the location is searched anew, the server's
own rewriting does not run again, and $request_uri stays what the client sent. No I/O.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import RequestHead
from balancer.matching.gates.verdicts import PASSED, Go, NewPath
from balancer.matching.rewriting import encoded

TURNS_MOST: Final = 10
"""How often scripts of routes may change the path of one request (nginx: NGX_HTTP_MAX_URI_CHANGES)."""

_PATH_BYTES_MOST = 32 * 1024  # as `rewriting` bounds what a target makes
_DOT_SEGMENT = re.compile(rb"/\.{1,2}(?:/|\Z)")


class LedHead(RequestHead, frozen=True, eq=False, gc=False):
    """The head of a request that is matched anew: `path` is the new one, and `target` that of the client.

    `onward` is the target that goes on to the endpoint. `before` is what the gates have said that nobody asks again.
    `turns` as in `NewPath`.
    """

    onward: bytes
    before: Go
    turns: int


def led_to(request: RequestHead, verdict: NewPath, before: Go) -> LedHead:
    """`request` with the path of `verdict`, to be matched anew. `before` is what gates have changed about it.

    Raises `Refusal` for a path with dot segments, or one that is too long.
    """
    path = verdict.path
    if len(path) > _PATH_BYTES_MOST:
        raise Refusal(ErrorKind.TARGET_TOO_LONG, "a rewritten path that is too long")
    if _DOT_SEGMENT.search(path):
        raise Refusal(ErrorKind.BAD_REQUEST, "dot segments in a rewritten path")
    _, mark, query = request.target.partition(b"?")
    said = {name: getattr(request, name) for name in _FIELDS if name != "path"}
    before = Go() if before is PASSED else before  # `PASSED` says that the request goes on as it came
    return LedHead(path=path, onward=encoded(path) + mark + query, before=before, turns=verdict.turns, **said)


def onward_target(request: RequestHead) -> bytes:
    """The target that goes on to the endpoint if the route does not rewrite it."""
    return request.onward if type(request) is LedHead else request.target


def sent_on(led: LedHead) -> RequestHead:
    """A request that is matched anew, as its endpoint gets it."""
    return msgspec.structs.replace(led, target=led.onward)


def said_before(request: RequestHead) -> Go:
    """What gates have said of `request` on its way here."""
    return request.before if type(request) is LedHead else PASSED


def is_led(request: RequestHead) -> bool:
    """Whether the path was changed, so that gates of the whole host have been asked before."""
    return isinstance(request, LedHead)


_FIELDS = tuple(field.name for field in msgspec.structs.fields(RequestHead))

"""Decides which origins a CORS policy allows, and edits the heads of responses for them. No I/O.

Source: gateway.networking.k8s.io/v1 HTTPCORSFilter, https://fetch.spec.whatwg.org/#http-cors-protocol. Origins are
compared as scheme, host and port.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from balancer.http.edits import HeadEdit, ResponseEditor
from balancer.http.messages import Field, Fields, RequestHead, ResponseHead, field_value
from balancer.http.origin import Origin
from balancer.matching.cors import varies_already
from balancer.model.cors import CorsPolicy

ANY: Final = "*"

_ORIGIN = re.compile(rb"([a-z][a-z0-9+.-]*)://(\[[0-9a-f:.]+\]|[a-z0-9_.*-]+)(?::([0-9]{1,5}))?")
_PORTS = {b"http": b"80", b"https": b"443"}
_ALLOW_ORIGIN: Final = b"Access-Control-Allow-Origin"
_CREDENTIALS: Field = (b"Access-Control-Allow-Credentials", b"true")
_VARIES: Field = (b"Vary", b"Origin")
_OF_CORS = frozenset(
    b"access-control-" + name
    for name in (
        b"allow-origin",
        b"allow-credentials",
        b"allow-methods",
        b"allow-headers",
        b"expose-headers",
        b"max-age",
    )
)


class _Place(NamedTuple):
    """An origin. In a pattern, `host` may begin with `*.` or be `*`."""

    scheme: bytes
    host: bytes
    port: bytes

    def covers(self, other: _Place) -> bool:
        if (self.scheme, self.port) != (other.scheme, other.port):
            return False
        return self.host in (b"*", other.host) or (self.host[:2] == b"*." and other.host.endswith(self.host[1:]))


class AllowedOrigins:
    """The origins of one policy. Case does not count."""

    __slots__ = ("_echoes", "_patterns", "takes_all")

    def __init__(self, policy: CorsPolicy) -> None:
        """An origin that is not valid allows nobody."""
        self.takes_all = ANY in policy.origins
        self._echoes = policy.allows_cookies  # `*` never goes with credentials
        places = (_place(origin.lower().encode()) for origin in policy.origins)
        self._patterns = tuple(place for place in places if place is not None)

    @property
    def depends_on_request(self) -> bool:
        """Whether responses differ between origins, so that caches must keep them apart."""
        return self._echoes or not self.takes_all

    def allowed(self, request: RequestHead) -> bytes | None:
        """The value of Access-Control-Allow-Origin for `request`, or None if its origin is not allowed."""
        if not self.depends_on_request:
            return b"*"
        origin = field_value(request.fields, b"origin")
        if origin is None or self.takes_all:
            return origin
        place = _place(origin.lower())
        if place is None or b"*" in place.host:
            return None
        return origin if any(pattern.covers(place) for pattern in self._patterns) else None


class CorsPolicyEditor(ResponseEditor):
    """Says who may read a response. What the endpoint says about CORS never reaches the client."""

    __slots__ = ("_fields", "_origins")

    def __init__(self, policy: CorsPolicy) -> None:
        self._origins = AllowedOrigins(policy)
        # With credentials `*` would be the name of a field (HTTPCORSFilter.exposeHeaders).
        names = tuple(each for each in policy.exposed if each != "*" or not policy.allows_cookies)
        exposed = ((b"Access-Control-Expose-Headers", listed(names)),) if names else ()
        self._fields: Fields = (_CREDENTIALS, *exposed) if policy.allows_cookies else exposed

    def edit(self, request: RequestHead, origin: Origin, response: ResponseHead, given: HeadEdit) -> HeadEdit:
        allowed = self._origins.allowed(request)
        added = given.added
        if self._origins.depends_on_request and not varies_already(response.fields):
            added = (*added, _VARIES)
        if allowed is not None:
            added = (*added, (_ALLOW_ORIGIN, allowed), *self._fields)
        return HeadEdit(given.removed | _OF_CORS, added)


def listed(names: tuple[str, ...]) -> bytes:
    """Names as a list in a field."""
    return ", ".join(names).encode("ascii")


def _place(origin: bytes) -> _Place | None:
    found = _ORIGIN.fullmatch(origin)
    if found is None:
        return None
    scheme, host, port = found.groups()
    return _Place(scheme, host, port or _PORTS.get(scheme, b""))

"""Makes the copy of a request that a mirror gets. No I/O.

Source: ingress-nginx v1.15.1, internal/ingress/annotations/mirror and buildMirrorLocations in template.go: a subrequest
with the fields of the client and another Host.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import gcd

from balancer.http.field_names import HTTPOXY, OF_ONE_REQUEST
from balancer.http.messages import Field, RequestHead, field_value
from balancer.http.passing import has_other_signs, is_of_proxies, like_dashes
from balancer.http.streams import Outgoing
from balancer.matching.gates.external_auth.requests import AuthRequest
from balancer.matching.gates.external_auth.texts import compile_asked_text, safe
from balancer.matching.gates.verdicts import Asked
from balancer.matching.request_edits import request_editor_of
from balancer.model.addresses import is_forbidden_host
from balancer.model.edits import RequestEdit
from balancer.model.handshakes import Handshake
from balancer.model.mirroring import MIRRORS_MOST, BackendMirror, Mirroring
from balancer.model.routes import Route

MIRROR_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?P<port>:[0-9]{1,5})?(?P<target>[/?$][ -~]*)?",
    re.IGNORECASE,
)
"""The parts of the URL of a mirror. Its authority has no variable, so no client chooses who gets a copy."""

# What belongs to the connection or the body. Names in lower case.
_NOT_COPIED = OF_ONE_REQUEST | {HTTPOXY}


_COPY = (b"X-Zonal-Copy", b"1")
_COPY_NAME = b"x-zonal-copy"


class MirrorRequests:
    """Makes the copies of one route. `rule` is valid: its target matches `MIRROR_URL`, and its variables are known.

    A copy of a copy is never made: a mirror that leads back to its route would get copies for ever.
    """

    __slots__ = ("_authority", "_is_whole", "_rule", "_scheme", "_target", "may_send")

    def __init__(self, rule: Mirroring) -> None:
        parts = MIRROR_URL.fullmatch(rule.target)
        if parts is None:
            raise ValueError("the URL of a mirror is not valid")
        target = parts["target"] or "$request_uri"
        self._rule = rule
        self._scheme = parts["scheme"].lower()
        self._authority = parts["host"] + (parts["port"] or "")
        self._is_whole = "$" in target
        self._target = compile_asked_text(target)
        self.may_send = rule.allow_local or not is_forbidden_host(parts["host"])

    def is_due(self, request: RequestHead) -> bool:
        """Whether a copy of this request is to be made."""
        return self.may_send and not _is_copy(request)

    @property
    def with_body(self) -> bool:
        """Whether the copy has the body of the request."""
        return self._rule.with_body

    def copy_of(self, asked: Asked) -> AuthRequest:
        """The copy of a client's request, without its body."""
        request = asked.request
        target = self._target(asked)
        if not self._is_whole:
            _, mark, query = request.target.partition(b"?")
            target += (b"&" if b"?" in target and mark else mark) + query
        return AuthRequest(
            method=request.method.decode("ascii"),
            scheme=self._scheme,
            authority=self._authority,
            host=self._rule.host.encode(),
            target=safe(target if target.startswith(b"/") else b"/" + target),
            fields=(*_copied(asked), *_ours(asked), _COPY),
            verify=False,
            allow_local=self._rule.allow_local,
            tenant=self._rule.tenant,
        )


class BackendCopies:
    """Makes the copies of one route for one backend. A copy of a copy is never made.

    Of as many requests in a row as the denominator of the share says, exactly the numerator's number have a copy, which
    ones is left to chance. So even some hundred requests have nearly the share that was asked for.
    """

    __slots__ = ("_denominator", "_due", "_editor", "_left", "_numerator", "_tenant", "backend")

    def __init__(self, rule: BackendMirror, edits: tuple[RequestEdit, ...]) -> None:
        """`edits` are those of the route, which copies have as well."""
        self.backend = rule.backend
        self._tenant = rule.tenant
        common = gcd(rule.numerator, rule.denominator)
        self._numerator = rule.numerator // common
        self._denominator = rule.denominator // common
        self._left = 0  # requests of this row
        self._due = 0  # copies of them
        self._editor = request_editor_of(edits)

    def is_due(self, request: RequestHead, random_below: Callable[[int], int]) -> bool:
        """Whether a copy of this request is to be made. Asked once for each request."""
        if _is_copy(request):
            return False
        if self._numerator >= self._denominator:
            return True
        if not self._left:
            self._left = self._denominator
            self._due = self._numerator
        has_copy = random_below(self._left) < self._due
        self._left -= 1
        self._due -= has_copy
        return has_copy

    def copy_of(
        self, asked: Asked, outgoing: Outgoing, authority: str, *, tls: Handshake | None = None, http2: bool = False
    ) -> AuthRequest:
        """The copy, without its body, of a client's request as its endpoint gets it: `outgoing`.

        `authority` is the endpoint that gets the copy, and `tls` and `http2` are how that is spoken to.
        """
        request = outgoing.request
        fields = (*_copied(asked), *_ours(asked))
        return AuthRequest(
            method=request.method.decode("ascii"),
            scheme="http" if tls is None else "https",
            authority=authority,
            host=outgoing.host or request.authority,
            target=request.target,
            fields=(*(fields if self._editor is None else self._editor.edited(fields)), _COPY),
            verify=False,
            allow_local=True,
            tenant=self._tenant,
            tls=tls,
            http2=http2,
        )


def backend_copies_of(route: Route) -> tuple[BackendCopies, ...]:
    """What copies the requests of a route to backends."""
    return tuple(BackendCopies(rule, route.request_edits) for rule in route.mirrors[:MIRRORS_MOST])


def _is_copy(request: RequestHead) -> bool:
    return field_value(request.fields, _COPY_NAME) is not None


def _copied(asked: Asked) -> list[Field]:
    """The fields of the client, without those in which it could claim what only proxies know."""
    return [
        field
        for field in asked.request.fields
        if field[0] not in _NOT_COPIED and not is_of_proxies(like_dashes(field[0])) and not has_other_signs(field[0])
    ]


def _ours(asked: Asked) -> tuple[Field, Field]:
    address = asked.origin.peer.encode("ascii", "replace")
    return (b"X-Real-IP", address), (b"X-Forwarded-For", address)

"""Makes the request that an auth service gets about a client's request. No I/O.

Source: ingress-nginx v1.15.1, rootfs/etc/nginx/template/nginx.tmpl (location of `auth_request`). Unlike there, nothing
that a client says about its own address, host or target reaches the service, because services decide by such fields.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from balancer.http.field_names import HTTPOXY, OF_ONE_REQUEST
from balancer.http.messages import Field, Fields, RequestHead, field_value
from balancer.http.passing import has_other_signs, is_of_proxies
from balancer.matching.gates.external_auth.texts import AskedText, compile_asked_text, safe
from balancer.matching.gates.verdicts import Asked
from balancer.model.external_auth import ExternalAuth
from balancer.model.handshakes import Handshake

AUTH_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._${}-]+)(?P<port>:[0-9]{1,5})?(?P<target>[/?].*)?",
    re.IGNORECASE,
)
"""The parts of the URL of an auth service."""

# What belongs to the connection or the body, and what only we may say. Names in lower case.
_NOT_FOR_SERVICES = OF_ONE_REQUEST | {HTTPOXY, b"x-auth-request-redirect", b"x-sent-from", b"x-zonal-auth-depth"}
# What the gate of client certificates tells endpoints, and ingress-nginx auth services as well.
_OF_CERTIFICATES = b"ssl-client-"
_SENT_FROM = (b"X-Sent-From", b"nginx-ingress-controller")
_DEPTH = b"x-zonal-auth-depth"
_DEPTH_MOST = 3


class AuthRequest(NamedTuple):
    """A request to an auth service, or the copy of one to a mirror, which may have a body.

    `authority` is where the service listens, and `host` the value of Host. `verify`, `allow_local` and `tenant` as
    in `ExternalAuth`. `tls` is how a handshake is made, None: as `verify` says. `http2`: it is sent in HTTP/2.
    """

    method: str
    scheme: str
    authority: str
    host: bytes
    target: bytes
    fields: Fields
    verify: bool
    allow_local: bool
    body: bytes = b""
    tenant: str = ""
    tls: Handshake | None = None
    http2: bool = False


def depth_of(request: RequestHead) -> int:
    """How many requests to auth services led to this one, as these requests say."""
    stated = field_value(request.fields, _DEPTH) or b""
    return int(stated) if stated.isdigit() and len(stated) == 1 else 0


def is_loop(request: RequestHead) -> bool:
    """Whether the request is one of a loop: an auth service behind a route that asks the same service."""
    return depth_of(request) >= _DEPTH_MOST


class AuthRequests:
    """Makes the requests of one route. `rule` is valid: its URL matches `AUTH_URL`, and its variables are known."""

    __slots__ = ("_added", "_host", "_method", "_port", "_redirect", "_replaced", "_rule", "_scheme", "_target")

    def __init__(self, rule: ExternalAuth) -> None:
        parts = AUTH_URL.fullmatch(rule.url)
        if parts is None:
            raise ValueError("the URL of an auth service is not valid")
        target = parts["target"] or "/"
        self._rule = rule
        self._scheme = parts["scheme"].lower()
        self._host = compile_asked_text(parts["host"])
        self._port = parts["port"] or ""
        self._target = compile_asked_text(target if target.startswith("/") else f"/{target}")
        self._method = rule.method or "GET"
        self._redirect = compile_asked_text(rule.request_redirect or "$request_uri")
        self._added: tuple[tuple[bytes, AskedText], ...] = tuple(
            (name.encode(), compile_asked_text(value)) for name, value in rule.added_fields
        )
        self._replaced = frozenset(name.lower().encode() for name, _ in rule.added_fields)

    def about(self, asked: Asked) -> AuthRequest:
        """The request about a client's request."""
        host = self._host(asked)
        return AuthRequest(
            method=self._method,
            scheme=self._scheme,
            authority=host.decode("ascii") + self._port,
            host=host,
            target=safe(self._target(asked)),
            fields=(*self._kept(asked), *self._ours(asked), *self._extra(asked)),
            verify=self._rule.verify,
            allow_local=self._rule.allow_local,
            tenant=self._rule.tenant,
        )

    def _kept(self, asked: Asked) -> list[Field]:
        """The fields of the client that the service gets. Names with `_` could pass for names that only we may say."""
        replaced = self._replaced
        return [
            field
            for field in asked.request.fields
            if field[0] not in _NOT_FOR_SERVICES
            and field[0] not in replaced
            and not is_of_proxies(field[0])
            and b"_" not in field[0]
            and not has_other_signs(field[0])
        ]

    def _ours(self, asked: Asked) -> list[Field]:
        request, address = asked.request, asked.origin.peer.encode("ascii", "replace")
        scheme = b"https" if asked.secure else b"http"
        ours = [
            (b"X-Original-URL", b"%b://%b%b" % (scheme, request.authority, safe(request.target))),
            (b"X-Original-Method", request.method),
            _SENT_FROM,
            (b"X-Real-IP", address),
            (b"X-Forwarded-For", asked.origin.forwarded_for or address),
            (b"X-Auth-Request-Redirect", safe(self._redirect(asked))),
            (b"X-Zonal-Auth-Depth", b"%d" % (depth_of(request) + 1)),
        ]
        ours += [field for field in asked.added if field[0].lower().startswith(_OF_CERTIFICATES)]
        if asked.request_id and request.repeated.request_id is None:
            ours.append((b"X-Request-ID", asked.request_id))
        if self._rule.method:
            ours.append((b"X-Original-URI", safe(request.target)))
            ours.append((b"X-Scheme", asked.origin.scheme))
        replaced = self._replaced
        return [field for field in ours if field[0].lower() not in replaced] if replaced else ours

    def _extra(self, asked: Asked) -> list[Field]:
        """The fields of `auth-proxy-set-headers`; an empty value only removes a field (nginx proxy_set_header)."""
        evaluated = ((name, value(asked)) for name, value in self._added)
        return [(name, value) for name, value in evaluated if value]

"""The gate of a route whose requests an endpoint of a backend judges.

Source: gateway.networking.k8s.io/v1 HTTPExternalAuthFilter, protocol HTTP. The service is asked with the method, host
and path of the client. A 200 lets a request pass; what else the service says short of an error of its own, the client
gets, and 403 in place of any other 2xx. Without an answer no request passes. The service itself is behind an interface.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from balancer.errors import ErrorKind
from balancer.http.field_names import HTTPOXY, OF_ONE_REQUEST
from balancer.http.messages import Field, Fields, field_value
from balancer.matching.gates.external_auth.answers import UNAVAILABLE, AuthAnswer, AuthAnswers
from balancer.matching.gates.external_auth.gate import AuthServices
from balancer.matching.gates.external_auth.requests import AuthRequest, depth_of, is_loop
from balancer.matching.gates.external_auth.texts import safe
from balancer.matching.gates.verdicts import About, Asked, Go, Reply, Resume, Verdict, Waiting
from balancer.model.endpoints import BackendKey
from balancer.model.external_auth import BackendAuth, ExternalAuth
from balancer.model.handshakes import Handshake

_ALWAYS: Final = (b"authorization",)
_PASSES, _DENIED = 200, 403
_REDIRECTIONS, _SERVER_ERRORS = 300, 500  # the first statuses of their classes
# What belongs to the message of the service, or to its connection.
_OF_ANSWERS: Final = OF_ONE_REQUEST | {HTTPOXY, b"content-encoding", b"content-length", b"content-type", b"date"}
_OF_SERVERS: Final = frozenset((b"server", b":authority", b"www-authenticate", b"set-cookie"))


class AuthEndpoint(NamedTuple):
    """An endpoint that may be asked, as `address:port`, and how it is spoken to: TLS None is plain."""

    authority: str
    tls: Handshake | None = None
    http2: bool = False


FindEndpoint = Callable[[BackendKey, bool], AuthEndpoint | None]
"""An endpoint of a backend, for a client that speaks TLS or not; None: there is none."""


class BackendAuthGate:
    """The gate of one route."""

    __slots__ = ("_answers", "_find", "_passes_all", "_request_fields", "_rule", "_services")

    def __init__(self, rule: BackendAuth, services: AuthServices, find: FindEndpoint) -> None:
        self._rule = rule
        self._services = services
        self._find = find
        self._request_fields = frozenset((*_ALWAYS, *(name.encode() for name in rule.request_fields)))
        self._passes_all = not rule.response_fields
        self._answers = AuthAnswers(ExternalAuth("", response_fields=rule.response_fields, always_sets_cookie=True))

    def describe(self) -> About:
        """Who is asked. An explanation asks nobody."""
        place = self._rule.backend or "a Service that cannot be used"
        return About((f"External auth: {place} is asked. Nobody is asked here, so the request is taken to pass.",))

    def judge(self, asked: Asked, resume: Resume) -> Verdict | Waiting:
        """Refuses at once if nobody can be asked. The verdict comes later otherwise."""
        backend = self._rule.backend
        if backend is None or is_loop(asked.request) or (asked.is_servable is not None and not asked.is_servable()):
            return UNAVAILABLE
        endpoint = self._find(backend, asked.secure)
        if endpoint is None:
            return UNAVAILABLE
        return self._services.ask(self._about(asked, endpoint), partial(self._answered, asked, resume)) or UNAVAILABLE

    def _about(self, asked: Asked, endpoint: AuthEndpoint) -> AuthRequest:
        request = asked.request
        target = request.target if request.target.startswith(b"/") else b"/"
        kept = [
            field for field in request.fields if field[0] in self._request_fields and field[0] not in OF_ONE_REQUEST
        ]
        return AuthRequest(
            method=request.method.decode("ascii"),
            scheme="http" if endpoint.tls is None else "https",
            authority=endpoint.authority,
            host=request.authority,
            target=safe(self._rule.path.encode() + target),
            fields=(*kept, (b"X-Zonal-Auth-Depth", b"%d" % (depth_of(request) + 1))),
            verify=False,
            allow_local=True,
            tenant=self._rule.tenant,
            tls=endpoint.tls,
            http2=endpoint.http2,
        )

    def _answered(self, asked: Asked, resume: Resume, answer: AuthAnswer | None) -> None:
        resume(UNAVAILABLE if answer is None else self._verdict(asked, answer))

    def _verdict(self, asked: Asked, answer: AuthAnswer) -> Verdict:
        verdict = self._answers.verdict(asked, answer)
        if isinstance(verdict, Go):
            if answer.status != _PASSES:
                return Reply(_DENIED, (), None, ErrorKind.AUTH_DENIED)
            return _with_all(verdict, answer.fields) if self._passes_all else verdict
        if verdict == UNAVAILABLE and _REDIRECTIONS <= answer.status < _SERVER_ERRORS:
            return Reply(answer.status, tuple(_told(answer.fields)), None, ErrorKind.AUTH_DENIED)
        return verdict


def _with_all(go: Go, fields: Fields) -> Go:
    """`go` with every field of the answer that says something about the client."""
    added = tuple(field for field in fields if field[0] not in _OF_ANSWERS and field[0] not in _OF_SERVERS)
    return Go((*go.added, *added), go.removed | {name for name, _ in added}, go.editors)


def _told(fields: Fields) -> list[Field]:
    """What a client gets of an answer that sends it elsewhere, or refuses it."""
    found = [(b"Location", value)] if (value := field_value(fields, b"location")) else []
    return found + [(b"Set-Cookie", value) for name, value in fields if name == b"set-cookie"]

"""Decides what the answer of an auth service means for a client's request. No I/O.

Source: nginx ngx_http_auth_request_module and ingress-nginx v1.15.1. A 2xx lets the request pass, 401 and 403 refuse
it, and every other answer is an error of ours, so no request passes by mistake. Of a refusal the client gets only the
status, the challenge, the body and the cookies.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl

from balancer.errors import ErrorKind
from balancer.http.edits import HeadEdit, ResponseEditor
from balancer.http.messages import Field, Fields, RequestHead, ResponseHead, field_value
from balancer.http.origin import Origin
from balancer.matching.gates.external_auth.texts import AskedText, compile_asked_text, escaped, safe
from balancer.matching.gates.verdicts import Asked, Deny, Go, Reply, Verdict
from balancer.model.external_auth import ExternalAuth

UNAVAILABLE = Deny(ErrorKind.AUTH_UNAVAILABLE)
"""The verdict without an answer, and with one that says neither yes nor no."""

_UNAUTHORIZED, _FORBIDDEN, _FOUND = 401, 403, 302
# To which responses nginx adds a field without being told "always" (ngx_http_headers_module).
_GETS_COOKIES = frozenset((200, 201, 204, 206, 301, 302, 303, 304, 307, 308))
_CLEAN = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")  # RFC 9110 5.5


class AuthAnswer(NamedTuple):
    """A final answer of an auth service. Names of fields are in lower case. `body` is empty where it does not count."""

    status: int
    fields: Fields = ()
    body: bytes = b""


class AuthAnswers:
    """Judges the answers about the requests of one route."""

    __slots__ = ("_always_sets_cookie", "_dashed", "_removed", "_response_fields", "_signin")

    def __init__(self, rule: ExternalAuth) -> None:
        self._always_sets_cookie = rule.always_sets_cookie
        self._response_fields = tuple((name.encode(), name.lower().encode()) for name in rule.response_fields)
        self._removed = frozenset(lowered for _, lowered in self._response_fields)
        self._dashed = frozenset(map(_dashed, self._removed))
        self._signin = _signin(rule) if rule.signin else None

    def verdict(self, asked: Asked, answer: AuthAnswer) -> Verdict:
        """What becomes of the request."""
        if not all(_CLEAN.fullmatch(value) for _, value in answer.fields):
            return UNAVAILABLE
        if 200 <= answer.status < 300:
            return self._passed(asked.request, answer)
        if answer.status == _UNAUTHORIZED and self._signin is not None:
            location = (b"Location", safe(self._signin(asked)))
            return Reply(_FOUND, (location, *_cookies(answer)), None, ErrorKind.AUTH_DENIED)
        if answer.status in (_UNAUTHORIZED, _FORBIDDEN):
            return self._refused(answer)
        return UNAVAILABLE

    def _passed(self, request: RequestHead, answer: AuthAnswer) -> Go:
        added = [
            (name, b", ".join(values))
            for name, lowered in self._response_fields
            if any(values := [value for each, value in answer.fields if each == lowered])
        ]
        removed = self._removed
        # An endpoint may read a name with `_` as the same name with `-`, as CGI does.
        if odd := [name for name, _ in request.fields if b"_" in name and _dashed(name) in self._dashed]:
            removed = removed.union(odd)
        cookies = _cookies(answer)
        return Go(tuple(added), removed, (_CookieSetter(cookies, self._always_sets_cookie),) if cookies else ())

    def _refused(self, answer: AuthAnswer) -> Reply:
        fields: list[Field] = []
        if answer.status == _UNAUTHORIZED:
            fields += [(b"WWW-Authenticate", value) for name, value in answer.fields if name == b"www-authenticate"]
        if answer.body:
            names = ((b"Content-Type", b"content-type"), (b"Content-Encoding", b"content-encoding"))
            fields += [(name, value) for name, key in names if (value := field_value(answer.fields, key))]
        if self._always_sets_cookie:
            fields += _cookies(answer)
        return Reply(answer.status, tuple(fields), answer.body or None, ErrorKind.AUTH_DENIED)


class _CookieSetter(ResponseEditor):
    """Adds the cookies of a service to the response of the endpoint, to errors only where `always` says so."""

    __slots__ = ("_always", "_cookies")

    def __init__(self, cookies: Fields, always: bool) -> None:
        self._cookies = cookies
        self._always = always

    def edit(self, request: RequestHead, origin: Origin, response: ResponseHead, given: HeadEdit) -> HeadEdit:
        if self._always or response.status in _GETS_COOKIES:
            return HeadEdit(given.removed, given.added + self._cookies)
        return given


def _cookies(answer: AuthAnswer) -> Fields:
    return tuple((b"Set-Cookie", value) for name, value in answer.fields if name == b"set-cookie")


def _dashed(name: bytes) -> bytes:
    return name.replace(b"_", b"-")


def _signin(rule: ExternalAuth) -> AskedText:
    """Where a client that the service does not know can sign in (ingress-nginx template.go, `buildAuthSignURL`).

    A URL that states the parameter itself stays as it is. Of the client's URL only path and query are escaped.
    """
    page, parameter = compile_asked_text(rule.signin), rule.signin_param
    stated = dict(reversed(parse_qsl(rule.signin.partition("?")[2], keep_blank_values=True)))
    if stated.get(parameter):
        return page
    joint = b"%b%b=" % (b"&" if stated else b"?", parameter.encode())

    def signin(asked: Asked) -> bytes:
        request = asked.request
        return b"%b%b%b://%b%b" % (page(asked), joint, asked.origin.scheme, request.authority, escaped(request.target))

    return signin

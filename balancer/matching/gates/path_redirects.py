"""Redirects whose URL depends on the path of the request: a rewritten URL, and a path with a slash at its end. No I/O.

Whatever comes from the request is encoded, so no capture ends the field or begins a query.
"""

from __future__ import annotations

from balancer.errors import Refusal
from balancer.matching.gates.verdicts import PASSED, Asked, Deny, ForeseenGate, Go, Reply, Resume
from balancer.matching.rewriting import Filling, encoded
from balancer.matching.urls import own_url, scheme
from balancer.model.redirects import RewrittenRedirect, SlashRedirect

_REWRITTEN_STATUS, _SLASH_STATUS = 302, 301
_SCHEME = "$scheme"


class RewrittenRedirectGate(ForeseenGate):
    """Redirects to the URL that a rewrite makes (ngx_http_rewrite_module, `rewrite`: a replacement with a scheme)."""

    __slots__ = ("_filling", "_has_own_scheme")

    def __init__(self, rule: RewrittenRedirect) -> None:
        self._has_own_scheme = rule.target.startswith(_SCHEME)
        self._filling = Filling(rule.target.removeprefix(_SCHEME), "", rule.expression)

    def judge(self, asked: Asked, resume: Resume) -> Go | Deny | Reply:
        """The verdict, always at once. The query of the request is kept."""
        request = asked.request
        try:
            parts = self._filling.fill(request, asked.origin.peer, ())
        except Refusal as refusal:
            return Deny(refusal.kind)
        if parts is None:
            return PASSED
        url = b"".join(map(encoded, parts)) + _query(request.target)
        return _redirect(_REWRITTEN_STATUS, scheme(asked.origin) + url if self._has_own_scheme else url)


class SlashRedirectGate(ForeseenGate):
    """Redirects to the path with a slash at its end (nginx ngx_http_core_find_config_phase)."""

    __slots__ = ("_form",)

    def __init__(self, rule: SlashRedirect) -> None:
        self._form = rule.form

    def judge(self, asked: Asked, resume: Resume) -> Reply:
        """The verdict, always at once. The query of the request is kept."""
        request = asked.request
        path = encoded(request.path) + b"/" + _query(request.target)
        return _redirect(_SLASH_STATUS, own_url(self._form, request, asked.origin, path))


def _query(target: bytes) -> bytes:
    _, mark, query = target.partition(b"?")
    return mark + query if query else b""


def _redirect(status: int, location: bytes) -> Reply:
    return Reply(status, ((b"Location", location),))

"""Redirects that need no endpoint: of the path `/`, of another name of the host, and of every request. No I/O.

The targets are checked when an Ingress is read. Of the request only its host and its target get into a Location. Both
were checked when the head was read.
"""

from __future__ import annotations

from balancer.matching.gates.leading import is_led
from balancer.matching.gates.verdicts import PASSED, Asked, ForeseenGate, Go, Reply, Resume
from balancer.matching.urls import own_url, scheme
from balancer.model.redirects import AppRoot, NameRedirect, TargetRedirect, UrlForm

_APP_ROOT_STATUS = 302


class AppRootGate(ForeseenGate):
    """Redirects requests of exactly `/`. The query is dropped, as in ingress-nginx (nginx.tmpl, `if ($uri = /)`)."""

    __slots__ = ("_target",)

    def __init__(self, rule: AppRoot) -> None:
        self._target = rule.target.encode("ascii")

    def judge(self, asked: Asked, resume: Resume) -> Go | Reply:
        """The verdict, always at once. The Location has the Host as it came, with its port."""
        request = asked.request
        if request.path != b"/" or is_led(request):
            return PASSED
        if not request.host_name:
            return _redirect(_APP_ROOT_STATUS, own_url(UrlForm(), request, asked.origin, self._target))
        return _redirect(_APP_ROOT_STATUS, scheme(asked.origin) + b"://" + request.authority + self._target)


class NameRedirectGate(ForeseenGate):
    """Redirects every request to the same target at another host (ngx_srv_redirect.lua).

    ingress-nginx prints the port of its listener, which behind a load balancer is not the port that clients know. So
    the Location has none here.
    """

    __slots__ = ("_host", "_status")

    def __init__(self, rule: NameRedirect) -> None:
        self._host = rule.host.encode("ascii")
        self._status = rule.status

    def judge(self, asked: Asked, resume: Resume) -> Reply:
        """The verdict, always at once."""
        target = without_final_slash(asked.request.target)
        return _redirect(self._status, scheme(asked.origin) + b"://" + self._host + target)


class TargetRedirectGate(ForeseenGate):
    """Redirects every request to one URL or path."""

    __slots__ = ("_form", "_path", "_reply", "_status")

    def __init__(self, rule: TargetRedirect) -> None:
        target = rule.target.encode("ascii")
        self._status = rule.status
        self._form = rule.form
        self._path = target if target.startswith(b"/") else b""
        self._reply = _redirect(rule.status, target)

    def judge(self, asked: Asked, resume: Resume) -> Reply:
        """The verdict, always at once."""
        if not self._path:
            return self._reply
        return _redirect(self._status, own_url(self._form, asked.request, asked.origin, self._path))


def without_final_slash(target: bytes) -> bytes:
    """A target as redirects to the same target at another name have it: without one slash at its end.

    A target with a query stays unchanged. The target `*` is for the whole server (RFC 9112 3.2.4), and becomes empty.
    """
    if target == b"*":
        return b""
    return target[:-1] if target.endswith(b"/") and b"?" not in target else target


def _redirect(status: int, location: bytes) -> Reply:
    return Reply(status, ((b"Location", location),))

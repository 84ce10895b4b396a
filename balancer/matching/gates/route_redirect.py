"""Redirects the requests of a route to another scheme, host, port or path. No I/O.

Source: gateway.networking.k8s.io/v1 HTTPRequestRedirectFilter. The host of the request was checked when its head was
read, and the path stays encoded, so no client can end the field. The Location always has a scheme and a host: a path of
two slashes leads nowhere else.
"""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.matching.gates.verdicts import FORESEEN, About, Asked, Deny, Reply, Resume
from balancer.matching.path_replacement import PathReplacer
from balancer.matching.urls import port_of_scheme, scheme
from balancer.model.redirects import RouteRedirect


class RouteRedirectGate:
    """The gate of one route."""

    __slots__ = ("_host", "_port", "_replacer", "_scheme", "_status")

    def __init__(self, rule: RouteRedirect) -> None:
        self._status = rule.status
        self._scheme = rule.scheme.encode("ascii")
        self._host = rule.host.encode("ascii")
        self._port = rule.port or (port_of_scheme(self._scheme) if self._scheme else 0)
        self._replacer = None if rule.path is None else PathReplacer(rule.path)

    def judge(self, asked: Asked, resume: Resume) -> Reply | Deny:
        """The verdict, always at once. A request that names no host is refused if the redirect needs one."""
        host = self._host or asked.host_name
        if not host:
            return Deny(ErrorKind.BAD_REQUEST)
        to = self._scheme or scheme(asked.origin)
        port = self._port or asked.origin.shown_port
        named = b"" if port == port_of_scheme(to) else b":%d" % port
        return Reply(self._status, ((b"Location", to + b"://" + host + named + self._target(asked)),))

    def describe(self) -> About:
        return FORESEEN

    def _target(self, asked: Asked) -> bytes:
        request = asked.request
        target = request.target if self._replacer is None else self._replacer.replaced(request)
        return b"" if target == b"*" else target

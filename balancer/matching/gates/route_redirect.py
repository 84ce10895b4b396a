"""Redirects the requests of a route to another scheme, host, port or path. No I/O.

Source: gateway.networking.k8s.io/v1 HTTPRequestRedirectFilter. The host of the request was checked when its head was
read, and the path stays encoded, so no client can end the field. The Location always has a scheme and a host: a path of
two slashes leads nowhere else.
"""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.matching.gates.verdicts import Asked, Deny, ForeseenGate, Reply, Resume
from balancer.matching.path_replacement import PathReplacer
from balancer.matching.urls import port_of_scheme, scheme
from balancer.model.redirects import RouteRedirect


class RouteRedirectGate(ForeseenGate):
    """The gate of one route."""

    __slots__ = ("_begin", "_host", "_named", "_port", "_replacer", "_status")

    def __init__(self, rule: RouteRedirect) -> None:
        self._status = rule.status
        self._begin = b""
        """How each Location begins; empty where that depends on the request."""
        self._named = b""
        """What follows the host, if it begins so."""
        self._host = rule.host.encode("ascii")
        self._port = rule.port
        if rule.scheme:
            of = rule.scheme.encode("ascii")
            self._begin = of + b"://"
            self._named = _named(rule.port or port_of_scheme(of), of)
        self._replacer = None if rule.path is None else PathReplacer(rule.path)

    def judge(self, asked: Asked, resume: Resume) -> Reply | Deny:
        """The verdict, always at once. A request that names no host is refused if the redirect needs one."""
        host = self._host or asked.host_name
        if not host:
            return Deny(ErrorKind.BAD_REQUEST)
        begin, named = self._begin, self._named
        if not begin:
            to = scheme(asked.origin)
            begin = to + b"://"
            named = _named(self._port or asked.origin.shown_port, to)
        return Reply(self._status, ((b"Location", begin + host + named + self._target(asked)),))

    def _target(self, asked: Asked) -> bytes:
        request = asked.request
        target = request.target if self._replacer is None else self._replacer.replaced(request)
        return b"" if target == b"*" else target


def _named(port: int, of: bytes) -> bytes:
    """How a URL of a scheme names a port."""
    return b"" if port == port_of_scheme(of) else b":%d" % port

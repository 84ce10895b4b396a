"""Redirects requests over plain HTTP to https. No I/O."""

from __future__ import annotations

from balancer.matching.gates.verdicts import Asked, Go, Reply, Resume

HTTPS_STATUS = 308  # the default of http-redirect-code

_GO = Go()


class HttpsRedirectGate:
    """The redirect of one route. A request that names no host goes on, because there is no URL to redirect it to."""

    __slots__ = ()

    def judge(self, asked: Asked, resume: Resume) -> Go | Reply:
        """The verdict, always at once."""
        request = asked.request
        if asked.origin.https or not asked.host_name:
            return _GO
        location = https_location(host_name=asked.host_name, target=request.target)
        return Reply(HTTPS_STATUS, ((b"Location", location),))


def https_location(*, host_name: bytes, target: bytes) -> bytes:
    """The URL to which a plain request is redirected: the same target over https, without port.

    A target without a query loses one trailing slash, as in ingress-nginx (`preserve-trailing-slash` off). A target
    with a query stays unchanged.
    """
    if target.endswith(b"/") and b"?" not in target:
        target = target[:-1]
    return b"https://" + host_name + target

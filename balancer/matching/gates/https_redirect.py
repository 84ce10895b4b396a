"""Redirects requests over plain HTTP to https. No I/O."""

from __future__ import annotations

from balancer.matching.gates.redirects import without_final_slash
from balancer.matching.gates.verdicts import PASSED, About, Asked, Go, Reply, Resume
from balancer.model.redirects import HttpsRedirect


class HttpsRedirectGate:
    """The redirect of one route. A request that names no host goes on, because there is no URL to redirect it to."""

    __slots__ = ("_rule",)

    def __init__(self, rule: HttpsRedirect) -> None:
        self._rule = rule

    def describe(self) -> About:
        """The client comes back over https."""
        return About(is_foreseen=True, leads_on=True)

    def judge(self, asked: Asked, resume: Resume) -> Go | Reply:
        """The verdict, always at once."""
        request = asked.request
        if asked.origin.https or not asked.host_name:
            return PASSED
        location = https_location(self._rule, host_name=asked.host_name, target=request.target)
        return Reply(self._rule.status, ((b"Location", location),))


def https_location(rule: HttpsRedirect, *, host_name: bytes, target: bytes) -> bytes:
    """The URL to which a plain request is redirected: the same target over https (lua_ingress.lua).

    Without `keeps_slash` a target without a query loses one slash at its end. ingress-nginx takes a slash from the end
    of a query, too, which would change its meaning.
    """
    if not rule.keeps_slash or target == b"*":
        target = without_final_slash(target)
    return b"https://" + host_name + (b":%d" % rule.port if rule.port else b"") + target

"""Answers OPTIONS requests of pages of other origins, which browsers send before the request itself (CORS). No I/O."""

from __future__ import annotations

from balancer.matching.cors import Origins
from balancer.matching.gates.verdicts import PASSED, Asked, ForeseenGate, Go, Reply, Resume
from balancer.model.gates import CorsPreflight

_ALLOWED = Reply(204, body=b"")  # the fields of CORS come from the editor of the route, as on every response


class PreflightGate(ForeseenGate):
    """The gate of one route. As in ingress-nginx it answers every OPTIONS request of an allowed origin.

    So it does not matter whether the request names a method (Access-Control-Request-Method).
    """

    __slots__ = ("_origins",)

    def __init__(self, rule: CorsPreflight) -> None:
        self._origins = Origins(rule.origins)

    def judge(self, asked: Asked, resume: Resume) -> Go | Reply:
        """The verdict, always at once."""
        if asked.request.method != b"OPTIONS" or self._origins.allowed(asked.request) is None:
            return PASSED
        return _ALLOWED

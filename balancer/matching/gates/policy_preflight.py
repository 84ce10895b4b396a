"""Answers the preflights of a CORS policy, which browsers send before a request itself. No I/O."""

from __future__ import annotations

from balancer.http.messages import Fields, RequestHead, field_value
from balancer.matching.cors_policy import ANY, AllowedOrigins, listed
from balancer.matching.gates.verdicts import PASSED, Asked, ForeseenGate, Go, Reply, Resume
from balancer.model.cors import CorsPolicyPreflight

_STATUS = 200  # Fetch takes every status from 200 to 299; clients of the conformance suite do not
_METHOD = b"access-control-request-method"
_HEADERS = b"access-control-request-headers"


class PolicyPreflightGate(ForeseenGate):
    """The gate of one route. An OPTIONS request without origin and method is no preflight: the endpoint answers.

    Pages that are not allowed get the same answer without its fields. The editor of the policy says who is allowed.
    """

    __slots__ = ("_headers", "_max_age", "_methods", "_origins", "_repeats")

    def __init__(self, rule: CorsPolicyPreflight) -> None:
        policy = rule.policy
        self._origins = AllowedOrigins(policy)
        self._methods = policy.methods
        self._headers = policy.headers
        self._repeats = policy.allows_cookies  # with credentials `*` is no wildcard (Fetch 3.3.4)
        self._max_age = (b"Access-Control-Max-Age", b"%d" % policy.max_age_seconds)

    def judge(self, asked: Asked, resume: Resume) -> Go | Reply:
        """The verdict, always at once."""
        request = asked.request
        is_preflight = request.method == b"OPTIONS" and field_value(request.fields, b"origin") is not None
        if not is_preflight or field_value(request.fields, _METHOD) is None:
            return PASSED
        fields = self._fields(request) if self._origins.allowed(request) is not None else ()
        return Reply(_STATUS, fields, body=b"")

    def _fields(self, request: RequestHead) -> Fields:
        methods = self._said(self._methods, request, _METHOD)
        headers = self._said(self._headers, request, _HEADERS)
        found = ((b"Access-Control-Allow-Methods", methods), (b"Access-Control-Allow-Headers", headers))
        return (*(field for field in found if field[1]), self._max_age)

    def _said(self, names: tuple[str, ...], request: RequestHead, asked: bytes) -> bytes:
        """`names`, or with credentials what the page asks for in place of `*`."""
        if ANY in names and self._repeats:
            return field_value(request.fields, asked) or b""
        return listed((ANY,) if ANY in names else names)

"""The gate of a route whose requests an auth service judges. The service itself is behind an interface.

Remembers answers where the route has a cache key, as long as the service and the route allow.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from balancer.matching.gates.external_auth.answers import UNAVAILABLE, AuthAnswer, AuthAnswers
from balancer.matching.gates.external_auth.cache import AuthCache, cache_key, lifetime
from balancer.matching.gates.external_auth.requests import AuthRequest, AuthRequests, is_loop
from balancer.matching.gates.external_auth.texts import compile_asked_text
from balancer.matching.gates.verdicts import About, Asked, Resume, Verdict, Waiting
from balancer.model.external_auth import ExternalAuth

Told = Callable[[AuthAnswer | None], None]
"""Gets the answer of an auth service, None without one."""


class AuthServices(Protocol):
    """Speaks to auth services."""

    def ask(self, request: AuthRequest, tell: Told) -> Waiting | None:
        """Sends a request. Calls `tell` once, in bounded time and never before this call returns, unless cancelled.

        None: too many requests wait for this service already, and `tell` is never called.
        """


class _NoService:
    """Stands in where no service can be asked."""

    def ask(self, request: AuthRequest, tell: Told) -> None:
        """Asks no service."""


class AuthTools(NamedTuple):
    """What the gates of one worker share. `now` is a clock in seconds that never goes back."""

    services: AuthServices
    cache: AuthCache
    now: Callable[[], float]


NO_AUTH_SERVICES = AuthTools(_NoService(), AuthCache(bytes_most=0), lambda: 0.0)
"""Lets no request pass."""


class ExternalAuthGate:
    """The gate of one route."""

    __slots__ = (
        "_answers",
        "_cache",
        "_key",
        "_now",
        "_requests",
        "_scope",
        "_seconds",
        "_services",
        "_tenant",
        "_url",
    )

    def __init__(self, rule: ExternalAuth, tools: AuthTools) -> None:
        services, cache, now = tools
        self._services = services
        self._cache = cache
        self._now = now
        self._tenant = rule.tenant
        self._url = rule.url
        self._requests = AuthRequests(rule)
        self._answers = AuthAnswers(rule)
        self._seconds = rule.cache_seconds
        self._key = compile_asked_text(rule.cache_key) if rule.cache_key else None
        self._scope = cache_key(rule.cache_scope.encode(), rule.url.encode(), rule.method.encode())

    def describe(self) -> About:
        """Who is asked. An explanation asks nobody."""
        return About((f"External auth: {self._url} is asked. Nobody is asked here, so the request is taken to pass.",))

    def judge(self, asked: Asked, resume: Resume) -> Verdict | Waiting:
        """The verdict at once if the answer is remembered or the service is not asked, else later.

        The service is not asked about a request that no endpoint could serve, which gets 503, as in ingress-nginx.
        """
        if asked.is_servable is not None and not asked.is_servable():
            return UNAVAILABLE
        key = b""
        if self._key is not None:
            key = cache_key(self._scope, self._key(asked))
            if (known := self._cache.get(self._tenant, key, asked.request, self._now())) is not None:
                return self._answers.verdict(asked, known)
        if is_loop(asked.request):
            return UNAVAILABLE
        tell = partial(self._answered, asked, key, resume)
        return self._services.ask(self._requests.about(asked), tell) or UNAVAILABLE

    def _answered(self, asked: Asked, key: bytes, resume: Resume, answer: AuthAnswer | None) -> None:
        if answer is None:
            return resume(UNAVAILABLE)
        if key and (seconds := lifetime(answer, self._seconds)):
            self._cache.put(self._tenant, key, answer, asked.request, until=self._now() + seconds)
        resume(self._answers.verdict(asked, answer))

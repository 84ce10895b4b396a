"""Limits the retries of a backend, so that failing endpoints do not multiply the load on the others.

Two bounds of 20 %: at one time, retries compared with requests in flight; over time, retries compared with all
requests. The second bound matters if attempts fail so quickly that hardly any is ever in flight. A backend with few
requests earns few retries, so a small reserve of the worker has some for every backend.
"""

from __future__ import annotations

from math import inf

from balancer.model.endpoints import Backend, BackendKey
from balancer.runtime.shares import FairShares

SHARE = 0.2
"""Retries for each request. A larger share would turn a partial failure into a whole one."""

AT_LEAST = 3
"""Retries at one time that even an idle backend may make, and retries that a backend has before its first request."""

RESERVE = 512
"""Retries in `RESERVE_SECONDS` that all backends of a worker may make together beyond those that they have earned."""

RESERVE_SECONDS = 10.0

# The most retries that a backend saves up: enough to notice that a zone of twenty endpoints is gone (5 failures eject
# one).
_SAVED_MAX = 100.0


class RetryReserve:
    """The retries of one worker that no backend has earned, divided among namespaces, and there among backends.

    One namespace takes at most half of them, and one backend at most half of the half. All are there again after
    `RESERVE_SECONDS`. Times are seconds of a clock that never goes back.
    """

    __slots__ = ("_backends", "_namespaces", "_until")

    def __init__(self) -> None:
        self._until = -inf
        self._namespaces = FairShares(RESERVE)
        self._backends: dict[str, FairShares] = {}

    def has(self, namespace: str, key: BackendKey, now: float) -> bool:
        """Whether there is a retry for the backend `key` in `namespace`."""
        if not self.take(namespace, key, now):
            return False
        self._backends[namespace].give_back(key)
        self._namespaces.give_back(namespace)
        return True

    def take(self, namespace: str, key: BackendKey, now: float) -> bool:
        """Takes a retry for the backend. Returns whether there was one."""
        if now >= self._until:
            self._until = now + RESERVE_SECONDS
            self._namespaces = FairShares(RESERVE)
            self._backends = {}
        backends = self._backends.get(namespace)
        if backends is None:
            self._backends[namespace] = backends = FairShares(RESERVE // 2)
        if not backends.take(key):
            return False
        if not self._namespaces.take(namespace):
            backends.give_back(key)
            return False
        return True


class RetryBudget:
    """The budget of one backend, across its changes. `earns`: a request adds to it, because it is not full."""

    __slots__ = ("_backend_key", "_namespace", "_saved", "earns", "retries")

    def __init__(self, backend: Backend) -> None:
        self._backend_key = backend.key
        self._namespace = backend.namespace
        self._saved = float(AT_LEAST)
        self.earns = True
        self.retries = 0

    def begin_request(self) -> None:
        """A request came, and earns a part of a retry. Nothing changes unless the backend `earns`."""
        saved = self._saved + SHARE
        self.earns = saved < _SAVED_MAX
        self._saved = saved if self.earns else _SAVED_MAX

    def may_retry(self, in_flight: int, reserve: RetryReserve, now: float, is_over: bool = False) -> bool:
        """Whether a retry is within both bounds.

        `in_flight` is the number of requests that the backend has in flight. `is_over`: the failed attempt loads no
        endpoint, because none took it, or because the one that did has hung up. Then only the bound over time applies:
        when an endpoint disappears, many requests may have chosen it at once.
        """
        if self._saved < 1.0 and not reserve.has(self._namespace, self._backend_key, now):
            return False
        return is_over or self.retries < max(AT_LEAST, in_flight * SHARE)

    def begin_retry(self, reserve: RetryReserve, now: float) -> None:
        """A retry that `may_retry` allowed is in flight until `end_retry`."""
        self.retries += 1
        # What may_retry saw in the reserve may be gone since. The backend then owes the retry.
        if self._saved >= 1.0 or not reserve.take(self._namespace, self._backend_key, now):
            self._saved -= 1.0
            self.earns = True

    def end_retry(self) -> None:
        """A retry is over."""
        self.retries -= 1

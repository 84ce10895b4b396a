"""Finds the endpoint that a request gets next, as long as route, budget and endpoints left allow one.

`retries` and the backend's budget decide whether there may be another attempt; the balancer in use now picks for it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection

from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.http.edits import FieldSetter, ResponseEditor
from balancer.live import View
from balancer.matching.destinations import Destination
from balancer.model.handshakes import Handshake
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import Balancer, Picker
from balancer.picking.members import Member, Pick
from balancer.picking.sessions import Session
from balancer.proxy.exchange import ExchangeOwner
from balancer.proxy.forwarder import Forwarder
from balancer.proxy.retries import may_pass_over, may_retry

# Fresh keys of sessions need not be secret, only different in all replicas.
_KEYS_BELOW = 1_000_000_000


class Succession(ExchangeOwner):
    """The picks of one request, first to last."""

    __slots__ = (
        "_chosen",
        "_destination",
        "_handshake",
        "_intercepts",
        "_picker",
        "_runtime",
        "_tried",
        "forwarder",
    )

    _chosen: Pick | None
    _destination: Destination
    _handshake: Handshake | None
    _intercepts: frozenset[int]
    _picker: Picker
    _runtime: BackendRuntime
    _tried: tuple[Member, ...]
    forwarder: Forwarder

    def newest_view(self) -> View:
        """The view that a request gets which begins now."""
        raise NotImplementedError

    def passes_over(self, status: int, is_request_here: bool) -> bool:
        """Whether a response of `status` is dropped because another endpoint, or an error page, can answer.

        Chooses that endpoint.
        """
        self._chosen = None
        if is_request_here and may_pass_over(status, method=self.outgoing.request.method, on=self.policy.retry_on):
            self._chosen = self._choose(nothing_sent=False)
        return self._chosen is not None or status in self._intercepts

    def _pick_after(self, error: AttemptError) -> Pick | None:
        """The next pick after a failed attempt; None if route, budget or endpoints allow no other."""
        if error.kind is ErrorKind.PASSED_OVER:
            return self._chosen
        if not may_retry(error, method=self.outgoing.request.method, on=self.policy.retry_on):
            return None
        is_silent = error.kind is ErrorKind.CONNECT_TIMEOUT
        return self._choose(nothing_sent=error.sent is Sent.NOTHING, is_silent=is_silent)

    def _choose(self, *, nothing_sent: bool, is_silent: bool = False) -> Pick | None:
        """`is_silent`: the last endpoint did not even refuse, so endpoints of other zones come first."""
        policy, now = self.policy, time.perf_counter()
        if len(self._tried) >= policy.tries > 0 or self.stream.closed:
            return None
        if 0 < policy.retry_seconds <= now - self.account.started:
            return None
        if not self._sees_present(now):
            return None
        runtime = self._runtime
        budget = runtime.budget
        if not budget.may_retry(runtime.load.in_flight, self.forwarder.reserve, now, nothing_sent):
            return None
        picker = self._picker
        pick = picker.pick(self._with_neighbours(), now) if is_silent else None
        return pick or picker.pick(self._tried, now)

    def _sees_present(self, now: float) -> bool:
        """Takes the balancer of the view in use. Returns whether the backend is still there.

        A backend that was removed and made anew is another one: the request is in flight at the first.
        """
        before, key = self._runtime, self._destination.backend
        runtime = None if key is None else self.newest_view().backends.get(key)
        if runtime is before:
            return True
        if runtime is None or runtime.load is not before.load:
            return False
        self._runtime = runtime
        self._handshake = self._handshake_of(runtime)
        balancer, picker = runtime.balancer(self._destination.zone_policy, now), self._picker
        if isinstance(picker, Session):
            picker.follow(runtime, balancer)
        else:
            self._picker = balancer
        return True

    def _handshake_of(self, runtime: BackendRuntime) -> Handshake | None:
        """How connections to the backend are made for this client."""
        handshake = runtime.handshake
        if handshake is not None and handshake.follows_client and not self.stream.secure:
            return None
        return handshake

    def _with_neighbours(self) -> Collection[Member]:
        """The members that were tried, and all others in the zone of the last one."""
        last = self._tried[-1].endpoint.zone
        if last is None:
            return self._tried
        members = self._runtime.members.values()
        return {*self._tried, *(each for each in members if each.endpoint.zone == last)}

    # Sessions.

    def _cookies(self, to: Destination) -> tuple[ResponseEditor, ...]:
        """The cookie that holds the client to its endpoint, if it is new."""
        picker = self._picker
        if not isinstance(picker, Session) or picker.key is None or to.stickiness is None:
            return ()
        cookie = to.stickiness.set_cookie(
            picker.key, request=self.outgoing.request, secure=self.stream.secure, now_epoch_seconds=time.time()
        )
        return (FieldSetter((cookie,), replaces=False),)

    def _session(self, balancer: Balancer, to: Destination) -> Picker:
        """What picks where a cookie or hash holds the request to an endpoint."""
        return Session(
            to,
            runtime=self._runtime,
            balancer=balancer,
            request=self.outgoing.request,
            peer=self.stream.origin.peer,
            new_key=_new_key,
            random_below=random.randrange,
        )


def _new_key() -> bytes:
    """A key in the form of ingress-nginx: the time and two numbers. `randrange` would take three times as long."""
    return b"%.3f.%d.%d" % (time.time(), random.random() * _KEYS_BELOW, random.random() * _KEYS_BELOW)

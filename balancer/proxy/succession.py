"""Says who may serve a request next, and in which way: the backend that is there now, sessions, neighbours.

Functions of what they are given; `attempts` keeps what they say, and carries it out.
"""

from __future__ import annotations

import random
import time

from balancer.errors import ErrorKind
from balancer.http.edits import FieldSetter, ResponseEditor
from balancer.http.messages import RequestHead
from balancer.live import View
from balancer.matching.destinations import Destination
from balancer.model.endpoints import BackendKey
from balancer.model.handshakes import Handshake
from balancer.model.policies import RoutePolicy
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import Balancer, Picker
from balancer.picking.members import Member, Pick
from balancer.picking.sessions import Session
from balancer.picking.silence import HEARD_SECONDS

# Fresh keys of sessions need not be secret, only different in all replicas.
_KEYS_BELOW = 1_000_000_000


def has_tries_left(policy: RoutePolicy, tried: int, seconds: float) -> bool:
    """Whether `policy` allows another endpoint after `tried` of them, `seconds` after the request began."""
    return not (tried >= policy.tries > 0 or 0 < policy.retry_seconds <= seconds)


def present(view: View, key: BackendKey | None, before: BackendRuntime) -> BackendRuntime | None:
    """The backend called `key` in `view`; None if it is not there, or another one.

    A backend that was removed and made anew is another one: the request is in flight at the first.
    """
    runtime = None if key is None else view.backends.get(key)
    return runtime if runtime is not None and runtime.load is before.load else None


def handshake_of(runtime: BackendRuntime, *, secure: bool) -> Handshake | None:
    """How connections to the backend are made for a client; `secure`: it speaks TLS."""
    handshake = runtime.handshake
    return None if handshake is not None and handshake.follows_client and not secure else handshake


def next_pick(  # noqa: PLR0917 -- by position, as `Picker.pick`
    picker: Picker, runtime: BackendRuntime, tried: tuple[Member, ...], now: float, is_silent: bool, repeats: bool
) -> Pick | None:
    """The pick after `tried`, of which the last has failed; None if there is none.

    `is_silent`: the last one did not even refuse, so endpoints come first that were heard a moment ago, or last of all,
    because others may be on the same machine; then endpoints of other zones. `repeats`: when all were tried, any may be
    tried again.
    """
    pick = _pick_after_silence(picker, runtime, tried, now) if is_silent else None
    pick = pick or picker.pick(tried, now)
    return picker.pick((), now) if pick is None and repeats else pick


def _pick_after_silence(picker: Picker, runtime: BackendRuntime, tried: tuple[Member, ...], now: float) -> Pick | None:
    members, zone = runtime.members.values(), tried[-1].endpoint.zone
    left = {each for each in members if each.is_silent}.union(tried)
    latest = max((each.health.heard_at for each in members if each not in left), default=now)
    unheard = {each for each in members if each.health.heard_at < min(latest, now - HEARD_SECONDS)}
    neighbours = {each for each in members if each.endpoint.zone == zone} if zone is not None else set()
    for avoided in (unheard | neighbours, unheard, neighbours, left):
        if (pick := picker.pick(avoided | left, now)) is not None:
            return pick
    return None


def why_none(balancer: Balancer) -> ErrorKind:
    """Why `balancer` has picked nobody: all endpoints are busy, or there is none for this request."""
    is_overload = balancer.pools.general and balancer.refusal is None
    return ErrorKind.OVERLOADED if is_overload else ErrorKind.NO_ENDPOINT


def session(balancer: Balancer, to: Destination, runtime: BackendRuntime, request: RequestHead, peer: str) -> Picker:
    """What picks where a cookie or hash holds the request of the client at `peer` to an endpoint."""
    return Session(
        to,
        runtime=runtime,
        balancer=balancer,
        request=request,
        peer=peer,
        new_key=_new_key,
        random_below=random.randrange,
    )


def cookies(picker: Picker, to: Destination, request: RequestHead, *, secure: bool) -> tuple[ResponseEditor, ...]:
    """The cookie that holds the client to its endpoint, if it is new."""
    if not isinstance(picker, Session) or picker.key is None or to.stickiness is None:
        return ()
    cookie = to.stickiness.set_cookie(picker.key, request=request, secure=secure, now_epoch_seconds=time.time())
    return (FieldSetter((cookie,), replaces=False),)


def _new_key() -> bytes:
    """A key in the form of ingress-nginx: the time and two numbers. `randrange` would take three times as long."""
    return b"%.3f.%d.%d" % (time.time(), random.random() * _KEYS_BELOW, random.random() * _KEYS_BELOW)

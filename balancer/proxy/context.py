"""Holds what the steps of one request share, and what a step may tell the request.

Its steps are in `requests`; each part that carries one out is a module of its own, which knows only this one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from balancer.errors import AttemptError
from balancer.http.edits import ResponseEditor
from balancer.http.messages import RequestHead
from balancer.http.origin import Origin
from balancer.http.streams import Outgoing, RequestStream
from balancer.live import View
from balancer.matching.served import Match
from balancer.model.policies import RoutePolicy
from balancer.proxy.account import Account
from balancer.proxy.bodies import KeptBody
from balancer.proxy.supplies import Supplies
from balancer.runtime.deadlines import Alarm


class Waits(Protocol):
    """Counts the requests of a client's connection that wait for a connection to an endpoint."""

    def waits(self) -> None:
        """One more waits."""

    def waited(self) -> None:
        """One waits no more."""


class RequestContext:
    """One request, as its steps see it.

    `supplies` are what it may use, and `waiting` counts it while it waits. `account` learns what each step finds out.
    `view` is the one in use when the request began, and `match` what it says about the request, once there is a match.
    `origin` says where the request comes from: what the stream says, or a proxy that is believed.
    `editors` change the heads of responses. `held` are the functions that give back what the request holds.
    `page_status` is the status of the error whose page is fetched, else 0. `is_over`: nothing more happens.

    While the request is forwarded: `outgoing` is what endpoints get, by `policy`. `kept` is the received part of the
    body if another endpoint may get it, else None. `is_call`: the request is a gRPC call.
    """

    __slots__ = (
        "account",
        "alarm",
        "editors",
        "held",
        "is_call",
        "is_over",
        "kept",
        "match",
        "origin",
        "outgoing",
        "page_status",
        "policy",
        "stream",
        "supplies",
        "view",
        "waiting",
    )

    account: Account
    alarm: Alarm
    editors: tuple[ResponseEditor, ...]
    held: tuple[Callable[[], None], ...]
    is_call: bool
    is_over: bool
    kept: KeptBody | None
    match: Match
    origin: Origin
    outgoing: Outgoing
    page_status: int
    policy: RoutePolicy
    stream: RequestStream
    supplies: Supplies
    view: View
    waiting: Waits

    def open(self, supplies: Supplies, waiting: Waits, stream: RequestStream, request: RequestHead | None) -> None:
        """The request has come; called once, first. `request` is None if it was refused.

        These are no arguments of a constructor, because compiled code would make a tuple of them.
        """
        origin = stream.origin
        self.supplies = supplies
        self.waiting = waiting
        self.stream = stream
        self.view = supplies.live.view
        self.origin = origin
        self.account = Account(origin.peer, request, time.perf_counter())
        alarms = supplies.alarms
        self.alarm = alarms.pop() if alarms else supplies.take_alarm()  # there is one nearly always
        self.editors = ()
        self.held = ()
        self.is_over = False
        self.page_status = 0

    def newest_view(self) -> View:
        """The view that a request gets which begins now."""
        return self.supplies.live.view

    def forwarded(self, error: AttemptError | None) -> None:
        """The request was forwarded. Called once. `error` is None if the client has its whole answer."""
        raise NotImplementedError

    def break_off(self) -> None:
        """Ends the request after an unexpected exception, which is being handled."""
        raise NotImplementedError

"""Holds what the requests of one worker use together: the view in use, who forwards, who counts, spare alarms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from balancer.http.messages import RequestHead
from balancer.live import LiveTable
from balancer.proxy.accounting import Accounting
from balancer.proxy.forwarder import Forwarder
from balancer.proxy.mirroring import Mirrors
from balancer.runtime.deadlines import Alarm, Deadlines

Hooking = Callable[[Any, RequestHead], None]
"""Takes a request over, which is a `balancer.proxy.requests.Request`, with its head."""


class Supplies:
    """What each request of a worker may use. It gives its alarm back to `alarms` at its end."""

    __slots__ = ("accounting", "alarms", "deadlines", "forwarder", "hooking", "live", "loop", "mirrors")

    def __init__(
        self,
        *,
        live: LiveTable,
        forwarder: Forwarder,
        accounting: Accounting,
        deadlines: Deadlines,
        mirrors: Mirrors | None = None,
        hooking: Hooking | None = None,
    ) -> None:
        """Without `mirrors` nothing is copied, whatever routes say. `hooking` takes over the requests of routes with
        hooks; None refuses them.
        """
        self.live = live
        self.hooking = hooking
        self.mirrors = mirrors
        self.forwarder = forwarder
        self.accounting = accounting
        self.deadlines = deadlines
        # Alarms that no request uses now. The wheel may still hold them, so another request costs no place in it.
        self.alarms: list[Alarm] = []
        self.loop = asyncio.get_running_loop()

    def take_alarm(self) -> Alarm:
        """An alarm for one request."""
        alarms = self.alarms
        return alarms.pop() if alarms else Alarm(self.deadlines, self.loop)

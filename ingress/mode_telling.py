"""Says when a Service leaves zonal mode or returns to it: in the log, and to whoever else wants to know.

Responsible for the clock around `zone_modes`, which decides what is told. It must not know what a mode is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from balancer.model import RoutingModel
from ingress.zone_modes import ModeChange, ZoneModes

_LOG = logging.getLogger(__name__)

_A_TIME = 20  # lines; a zone that is lost may be thousands of Services at once


class ModeTelling:
    """Follows what is published. Made inside the running loop."""

    __slots__ = ("_loop", "_model", "_modes", "_tell", "_timer")

    def __init__(self, tell: Callable[[tuple[ModeChange, ...]], None] = lambda _: None) -> None:
        self._tell = tell
        self._modes = ZoneModes()
        self._model = RoutingModel()
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def published(self, model: RoutingModel) -> None:
        """This model is served from now on."""
        self._model = model
        self._follow()

    def close(self) -> None:
        """Say no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _follow(self) -> None:
        self.close()
        now = self._loop.time()
        changes = self._modes.follow(self._model, now)
        for change in changes[:_A_TIME]:
            _LOG.info("%s/%s: %s", change.namespace, change.service, change.sentence)
        if len(changes) > _A_TIME:
            _LOG.info("… and %d more Services", len(changes) - _A_TIME)
        if changes:
            self._tell(changes)
        wait_seconds = self._modes.wait_seconds(now)
        if wait_seconds is not None:
            self._timer = self._loop.call_later(wait_seconds, self._follow)

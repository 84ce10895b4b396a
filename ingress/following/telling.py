"""Reports in the log, and to a callback, when a Service leaves zonal mode or returns to it.

Adds the clock to `zone_modes`, which decides what is reported. Does not know what a mode is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from balancer.model.publication import RoutingModel
from ingress.following.zone_modes import QUIET_SECONDS, ModeChange, ZoneModes

_LOG = logging.getLogger(__name__)

_A_TIME = 20  # lines; the loss of a zone may change thousands of Services at once


class ModeTelling:
    """Follows the published models. Must be made inside the running loop."""

    __slots__ = ("_loop", "_model", "_modes", "_tell", "_timer")

    def __init__(
        self,
        tell: Callable[[tuple[ModeChange, ...]], None] = lambda _: None,
        *,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self._tell = tell
        self._modes = ZoneModes(quiet_seconds=quiet_seconds)
        self._model = RoutingModel()
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def published(self, model: RoutingModel) -> None:
        """Takes the model that is served from now on."""
        self._model = model
        self._follow()

    def close(self) -> None:
        """Stops reporting."""
        if self._timer is not None:
            self._timer.cancel()

    def _follow(self) -> None:
        self.close()
        now = self._loop.time()
        changes = self._modes.follow(self._model, now)
        for change in changes[:_A_TIME]:
            level = logging.WARNING if change.mode.refuses else logging.INFO
            _LOG.log(level, "%s/%s: %s", change.namespace, change.service, change.sentence)
        if len(changes) > _A_TIME:
            _LOG.info("… and %d more Services", len(changes) - _A_TIME)
        if changes:
            self._tell(changes)
        wait_seconds = self._modes.wait_seconds(now)
        if wait_seconds is not None:
            self._timer = self._loop.call_later(wait_seconds, self._follow)

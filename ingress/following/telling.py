"""Reports in the log, and to a callback, when a Service leaves zonal mode or returns to it.

Adds the clock to `zone_modes`, which decides what is reported. Looks at a new model at once, but seldom while models
change without end. Does not know what a mode is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter

from balancer.model.publication import RoutingModel
from balancer.runtime.turns import in_turns
from ingress.following.zone_modes import QUIET_SECONDS, ModeChange, ZoneModes
from ingress.translation.sharing import fairly_first

_LOG = logging.getLogger(__name__)

# Lines, which namespaces share; the loss of a zone may change thousands of Services at once.
_A_TIME = 20
_PAUSE_SECONDS = 0.5  # between two looks; each costs a passage through all backends


class ModeTelling:
    """Follows the published models. Must be made inside the running loop."""

    __slots__ = ("_loop", "_model", "_modes", "_news", "_pause_seconds", "_task", "_tell")

    def __init__(
        self,
        tell: Callable[[tuple[ModeChange, ...]], None] = lambda _: None,
        *,
        quiet_seconds: float = QUIET_SECONDS,
        pause_seconds: float = _PAUSE_SECONDS,
    ) -> None:
        """After a change nothing is told of the same Service for `quiet_seconds`.

        Of models that come within `pause_seconds`, only the first and the last are looked at.
        """
        self._tell = tell
        self._modes = ZoneModes(quiet_seconds=quiet_seconds)
        self._pause_seconds = pause_seconds
        self._model = RoutingModel()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._task = self._loop.create_task(self._run())

    def published(self, model: RoutingModel) -> None:
        """Takes the model that is served from now on."""
        self._model = model
        self._news.set()

    def close(self) -> None:
        """Stops reporting."""
        self._task.cancel()

    async def _run(self) -> None:
        wait_seconds: float | None = None
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    await self._news.wait()
            self._news.clear()
            try:
                await self._follow()
            except Exception:
                _LOG.exception("changes of modes are not reported this time")  # a bug; serving continues
            await asyncio.sleep(self._pause_seconds)
            wait_seconds = self._modes.wait_seconds(self._loop.time())

    async def _follow(self) -> None:
        changes = await in_turns(self._modes.following(self._model, self._loop.time()))
        for change in fairly_first(changes, _A_TIME, attrgetter("namespace")):
            level = logging.WARNING if change.mode.refuses else logging.INFO
            _LOG.log(level, "%s/%s: %s", change.namespace, change.service, change.sentence)
        if len(changes) > _A_TIME:
            _LOG.info("… and %d more Services", len(changes) - _A_TIME)
        if changes:
            self._tell(changes)

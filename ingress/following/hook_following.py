"""Follows the hooks of the operator: tells a controller when files have changed, without a signal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ingress.findings import Finding
from ingress.following.hook_files import HookFiles
from ingress.settings.hooks import RegisteredHook

_LOG = logging.getLogger(__name__)

_POLL_SECONDS: Final = 1.0

HooksChanged = Callable[[tuple[RegisteredHook, ...], tuple[Finding, ...]], None]


class HookFollowing:
    """Looks at hooks again and again. `hooks` are those that were read last."""

    __slots__ = ("_files", "_poll_seconds", "hooks")

    def __init__(self, places: tuple[Path, ...], *, poll_seconds: float = _POLL_SECONDS) -> None:
        self._files = HookFiles(places)
        self._poll_seconds = poll_seconds
        self.hooks: tuple[RegisteredHook, ...] = ()

    async def open(self) -> tuple[RegisteredHook, ...]:
        """Reads the hooks. Raises `HooksUnusable`."""
        self.hooks = (await asyncio.to_thread(self._files.open)).hooks
        if self.hooks:
            _LOG.info("hooks: %s", ", ".join(hook.name for hook in self.hooks))
        return self.hooks

    async def run(self, changed: HooksChanged) -> None:
        """Calls `changed` after each change, without end. Returns if there are no files to follow."""
        while self._files.places:
            await asyncio.sleep(self._poll_seconds)
            found = await asyncio.to_thread(self._files.poll)
            if found is None:
                continue
            before = {hook.name: hook for hook in self.hooks}
            self.hooks = found.hooks
            news = [hook.name for hook in found.hooks if before.get(hook.name) != hook]
            gone = sorted(before.keys() - {hook.name for hook in found.hooks})
            _LOG.info("hooks have changed: new or other %s, gone %s", ", ".join(news) or "-", ", ".join(gone) or "-")
            for finding in found.findings:
                _LOG.warning("hook %s cannot be used: %s", finding.name, finding.message)
            changed(found.hooks, found.findings)

"""Tells findings to the log, and to a callback, as soon as they are old enough.

Adds the clock to `ageing`, which decides. Does not know what a finding means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ingress.findings import Finding
from ingress.following.ageing import AGE_SECONDS, Ageing
from ingress.following.finding_log import log_findings


class FindingTelling:
    """What has been told, and when there is more to tell. `follow` must be called inside the running loop."""

    __slots__ = ("_ageing", "_tell", "_timer", "_told")

    def __init__(
        self, tell: Callable[[tuple[Finding, ...]], None] = lambda _: None, *, age_seconds: float = AGE_SECONDS
    ) -> None:
        """`tell` gets all findings that are old enough, whenever findings change or become old enough."""
        self._tell = tell
        self._ageing = Ageing(age_seconds=age_seconds)
        self._told: tuple[Finding, ...] = ()
        self._timer: asyncio.TimerHandle | None = None

    def follow(self, findings: tuple[Finding, ...]) -> None:
        """Takes all findings that there are now."""
        self._ageing.follow(findings, asyncio.get_running_loop().time())
        self._tell_those_of_age()

    def close(self) -> None:
        """Tells nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _tell_those_of_age(self) -> None:
        self.close()
        loop = asyncio.get_running_loop()
        now = loop.time()  # one time for both: a finding is told now, or waited for
        before = self._told
        self._told = self._ageing.told(now)
        if (wait_seconds := self._ageing.wait_seconds(now)) is not None:
            self._timer = loop.call_later(wait_seconds, self._tell_those_of_age)
        log_findings(before, self._told)
        self._tell(self._told)

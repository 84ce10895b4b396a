"""What a peer may do that costs it nothing and us work: floods of frames and of resets. No I/O; time is an argument.

Sources: CVE-2019-9511 to -9518 (frames), CVE-2023-44487 (streams that are reset at once), CVE-2024-27316
(CONTINUATION), CVE-2025-8671 (streams that the server is made to reset). Frames that honest peers send because of
requests and bodies are measured by these: a window is updated for data, and gRPC pings while it receives.
"""

from __future__ import annotations

from typing import NamedTuple

from balancer.http2.events import REFUSED_STREAM, EngineLimits
from balancer.http2.frames import (
    CONTINUATION,
    GOAWAY,
    HEADERS,
    KINDS,
    PING,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    UNKNOWN,
    WINDOW_UPDATE,
    Frames,
)

BYTES_A_FRAME = 4096
"""So many bytes of ours count as a frame for which a peer may update a window, or ping."""
_UNHEARD_MAX = 10  # times as many: a client may open many streams before it knows how many are allowed


class _Allowance(NamedTuple):
    """How many frames of a type may come, beyond the number that is free: for each stream, for each frame of ours."""

    name: str
    streams: int = 0
    ours: int = 0


_ALLOWANCES = {
    PRIORITY: _Allowance("priority", streams=2),
    RST_STREAM: _Allowance("reset", streams=1),
    SETTINGS: _Allowance("settings"),
    PUSH_PROMISE: _Allowance("push_promise"),
    PING: _Allowance("ping", ours=1),
    GOAWAY: _Allowance("goaway"),
    WINDOW_UPDATE: _Allowance("window_update", streams=2, ours=10),
    CONTINUATION: _Allowance("continuation", streams=8),
    UNKNOWN: _Allowance("unknown", streams=2),
}

FLOOD_KINDS = frozenset((*(each.name for each in _ALLOWANCES.values()), "empty_data", "rapid_reset", "provoked_reset"))
"""What `Budgets` may say."""


class Budgets:
    """The budgets of one connection. All are whole again at `until`, in the time of whoever calls.

    `ours` counts the frames of data that went to the peer, and `opened` the streams that we have opened: a server may
    refuse each of them. `heard` counts the header blocks that the engine has reported: a library may refuse streams
    without a word. `is_spent`: a stream or an empty frame was counted since `breach_of_streams` was asked, or many
    heads have come. `errors` counts the streams that the peer's errors ended, since the connection began.
    """

    __slots__ = (
        "_before",
        "_empty",
        "_errors_before",
        "_is_server",
        "_limits",
        "_opened_before",
        "_ours_before",
        "_resets",
        "_unheard_most",
        "errors",
        "heard",
        "is_spent",
        "opened",
        "ours",
        "until",
    )

    def __init__(self, limits: EngineLimits, *, is_server: bool) -> None:
        self._limits = limits
        self._is_server = is_server
        self._before = [0] * KINDS
        self._ours_before = 0
        self.ours = 0
        self._opened_before = 0
        self.opened = 0
        self._errors_before = 0
        self.errors = 0
        self._empty = 0
        self._resets = 0
        self.heard = 0
        self._unheard_most = 0
        self.is_spent = False
        self.until = float("-inf")

    def overdrawn(self, frames: Frames, data: bytes, now: float) -> str:
        """Which budget the frames in `data`, behind those in `frames`, overdraw at `now`; empty if none."""
        if now >= self.until:
            self._renew(frames, now)
        frames.walk(data)
        if self._is_server and frames.counts[HEADERS] - self.heard > self._unheard_most:
            self.is_spent = True
        return self._breach(frames) if frames.rare else ""

    def _renew(self, frames: Frames, now: float) -> None:
        self.until = now + self._limits.flood_seconds
        self._before = frames.counts.copy()
        frames.rare = 0
        self._ours_before = self.ours
        self._opened_before = self.opened
        self._errors_before = self.errors
        self._empty = 0
        self._resets = 0
        self._unheard_most = frames.counts[HEADERS] - self.heard + _UNHEARD_MAX * self._limits.flood_resets

    def count_empty(self) -> None:
        """A frame of data came that has no byte and ends nothing."""
        self._empty += 1
        self.is_spent = True

    def count_reset(self) -> None:
        """The peer has reset a stream before its answer."""
        self._resets += 1
        self.is_spent = True

    def count_error(self, code: int) -> None:
        """A stream was ended with `code` because of an error of the peer."""
        if code != REFUSED_STREAM:
            self.errors += 1
            self.is_spent = True

    def _breach(self, frames: Frames) -> str:
        """Which budget `frames` have overdrawn; empty if none."""
        limits = self._limits
        if frames.continuations and (
            frames.continuations > limits.continuations or frames.block_bytes > limits.header_block_bytes
        ):
            return "continuation"
        free, before, counts = limits.flood_frames, self._before, frames.counts
        if frames.rare <= free:  # nearly always: then no type has more
            return ""
        streams = counts[HEADERS] - before[HEADERS] + self.opened - self._opened_before
        ours = self.ours - self._ours_before
        for kind, allowance in _ALLOWANCES.items():
            if counts[kind] - before[kind] > free + allowance.streams * streams + allowance.ours * ours:
                return allowance.name
        return ""

    def breach_of_streams(self, frames: Frames) -> str:
        """Which budget the streams have overdrawn that the engine has counted in all `frames`; empty if none."""
        limits = self._limits
        self.is_spent = False
        if self._empty > limits.flood_frames:
            return "empty_data"
        if self._resets > limits.flood_resets:
            return "rapid_reset"
        unheard = frames.counts[HEADERS] - self.heard if self._is_server else 0
        if self.errors - self._errors_before > limits.flood_resets or unheard > self._unheard_most:
            return "provoked_reset"
        return ""

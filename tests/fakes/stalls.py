"""Holds the event loop of a test, as a process that is stopped or has no processor would."""

from __future__ import annotations

import time


def stall(seconds: float) -> None:
    """Nothing else happens in this thread for so long."""
    time.sleep(seconds)

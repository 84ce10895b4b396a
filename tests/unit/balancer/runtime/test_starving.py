"""How long a thread waited for a processor; that it grows is seen in integration/balancer/workers/test_spawning.py."""

from __future__ import annotations

import os

from balancer.runtime.starving import starved_seconds


def test_the_own_thread_has_waited_for_some_time_which_never_falls() -> None:
    first = starved_seconds()
    assert 0.0 <= first <= starved_seconds()
    assert starved_seconds(str(os.getpid())) >= 0.0


def test_of_a_thread_that_is_not_there_nothing_is_known() -> None:
    assert starved_seconds("0") == 0.0

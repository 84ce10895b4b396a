"""Locks on bytes of a file, between processes."""

from __future__ import annotations

import os
import subprocess
import sys

from balancer.sharing.locks import RangeLocks

HOLDER = "import fcntl, os, sys, time; fcntl.lockf(int(sys.argv[1]), 2, 1, 5); print(flush=True); time.sleep(60)"


def test_a_lock_of_a_process_that_does_not_go_on_is_waited_for_only_shortly() -> None:
    descriptor = os.memfd_create("locks", os.MFD_CLOEXEC)
    holder = subprocess.Popen(
        (sys.executable, "-c", HOLDER, str(descriptor)), stdout=subprocess.PIPE, pass_fds=(descriptor,)
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"\n"
        locks = RangeLocks(descriptor)
        for place in (5, 6):  # of which the first one is not to be had
            locks.enter(place)
            locks.leave(place)
        holder.kill()
    os.close(descriptor)

"""Python runs this module in each process of a run: a thread writes every second how many bytes are allocated.

AddressSanitizer counts the bytes. The resident set says little: it holds also what the library keeps about memory.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time


def _write(file: str) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are for the main thread
    allocated = ctypes.CDLL(None).__sanitizer_get_current_allocated_bytes
    allocated.restype = ctypes.c_size_t
    with open(f"{file}.{os.getpid()}", "a", buffering=1, encoding="ascii") as written:
        while True:
            written.write(f"{time.monotonic()} {allocated()}\n")
            time.sleep(1.0)


if place := os.environ.get("CHAOS_ALLOCATED"):
    threading.Thread(target=_write, args=(place,), daemon=True).start()

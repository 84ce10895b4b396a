"""Says which signals end a serving process, and lets it survive those that mean something to other servers only.

SIGHUP, SIGUSR1 and SIGUSR2 would end a process that does not know them.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Final, NoReturn

ENDING: Final = (signal.SIGTERM, signal.SIGQUIT)
"""Both end a process without failing a request. SIGQUIT does so in nginx."""

CRASHES: Final = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE})
"""What ends a process by an error in compiled code, of this project or of a library."""

UNHEEDED: Final[Mapping[signal.Signals, str]] = {
    signal.SIGHUP: "there is nothing to reload, because changes are followed by themselves",
    signal.SIGUSR1: "there is nothing to reopen, because logs go to standard output and standard error",
    signal.SIGUSR2: "no new program is started; a rolling restart brings one",
}
"""Signals that change nothing, with the reason."""

_LOG = logging.getLogger(__name__)


def ignore_unheeded(*others: signal.Signals) -> None:
    """Makes this process ignore these signals without a word, and `others` as well."""
    for number in (*UNHEEDED, *others):
        signal.signal(number, signal.SIG_IGN)


def tell_crashes() -> None:
    """Makes a signal that an error in compiled code brings leave on standard error where each thread was."""
    if sys.stderr is not None:  # closed by whoever started us
        faulthandler.enable()


def end_at_once(_number: int, _frame: FrameType | None) -> NoReturn:
    """Ends this process with status 0.

    While modules are imported an exception would not do: raised in a callback of the importer it is lost, and the
    process would go on.
    """
    os._exit(0)


def begin_serving() -> None:
    """Lets each ending signal end this process at once, and ignores signals that change nothing, until an event loop
    has its handlers. SIGINT interrupts, even if whoever started this process ignores it, as a shell does for a job in
    the background.
    """
    ignore_unheeded()
    tell_crashes()
    for number in ENDING:
        signal.signal(number, end_at_once)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which the runner of an event loop looks for


def tell_unheeded(loop: asyncio.AbstractEventLoop) -> None:
    """Makes this process ignore these signals with a line in the log."""
    for number, reason in UNHEEDED.items():
        loop.add_signal_handler(number, _LOG.info, "%s is ignored: %s", number.name, reason)


def hold_back() -> None:
    """Lets no signal of this module end a process that this thread starts, before that process calls `let_through`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (*UNHEEDED, signal.SIGQUIT))


def let_through() -> None:
    """Takes the signals that were held back. They must have their handlers by now."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (*UNHEEDED, signal.SIGQUIT))

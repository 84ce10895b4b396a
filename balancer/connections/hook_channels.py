"""Speaks with the process of isolated hooks over a socket. What it does not read yet is kept, and nobody waits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

import msgspec

from zonal_hooks.talking import FROM_HOST, Answer, Begun, Frames, Garbled

_READ_BYTES: Final = 256 * 1024


class HookChannel:
    """One socket to a process. Made inside a running loop.

    What the process says is checked as what a client sends is: the code in it may have taken it over.
    """

    __slots__ = ("_frames", "_hear", "_is_closed", "_loop", "_lost", "_socket", "_unsent")

    def __init__(
        self, channel: socket.socket, hear: Callable[[Begun | Answer], None], lost: Callable[[str], None]
    ) -> None:
        """`hear` gets each message. `lost` gets a clause that says why no further one will come, if one will not."""
        channel.setblocking(False)
        self._socket = channel
        self._hear = hear
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._frames = Frames()
        self._unsent = bytearray()
        self._is_closed = False

    def open(self) -> None:
        """Hears from now on."""
        self._loop.add_reader(self._socket, self._read)

    def close(self) -> None:
        """Neither hears nor says anything any more."""
        self._is_closed = True
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()

    def say(self, data: bytes) -> None:
        """Sends `data` as soon as the process reads it. It may be lost at that."""
        self._unsent += data
        self._flush()

    def _flush(self) -> None:
        try:
            sent = self._socket.send(self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            return self._lost("has ended")
        del self._unsent[:sent]
        if self._unsent:
            self._loop.add_writer(self._socket, self._flush)
        else:
            self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        try:
            messages = [FROM_HOST.decode(body) for body in self._frames.feed(self._received())]
        except BlockingIOError:
            return
        except (OSError, EOFError):
            return self._lost("has ended")
        except (Garbled, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._lost("says what makes no sense")
        for message in messages:
            if not self._is_closed:  # by what was heard before
                self._hear(message)

    def _received(self) -> bytes:
        """Raises `EOFError` if the process has closed its end."""
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise EOFError
        return data

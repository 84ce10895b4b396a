"""Serves an application of aiohttp on one port of the control process, with bounds and deadlines for connections.

The library bounds neither the number of connections nor the time of a first head or of an answer that nobody reads.
Does not know pages.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, NamedTuple, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from balancer.runtime.transports import plain_address, reset_on_close
from ingress.admin.crowd import Crowd

PORT_MOST: Final = 256
"""Connections of one port, where there are descriptors enough."""

_LOG = logging.getLogger(__name__)


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a record of the library is about more than a client who speaks no HTTP: anybody could fill the log."""
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)


_LIBRARY_LOG: Final = logging.getLogger(f"{__name__}.library")
_LIBRARY_LOG.addFilter(_is_ours)

_AT_ONCE: Final = 16  # connections accepted before the loop turns to others
_PAUSE_SECONDS: Final = 0.1  # without descriptors; the connection that is ended for a new one needs a turn of the loop
_SHUTDOWN_SECONDS: Final = 1.0  # scrapes and probes are short; an idle connection must not delay the end of the process
_EXHAUSTED: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_PORT_LEAST: Final = 4
_OF_THE_PROCESS: Final = 64  # descriptors: for connections to the API server, the folder, pipes, sockets, and a reserve
_OF_A_WORKER: Final = 16  # descriptors of this process for each worker process: sockets, memory, pipes, twice in change

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class DoorTimes(NamedTuple):
    """How long a port waits for a client, in seconds.

    A TLS handshake and the head after it may take `head_seconds` each. Between requests a connection may be idle for
    `idle_seconds`. All waits for a client to read one answer may take `unread_seconds` together. The rest of a request
    body that no page wants is read for `linger_seconds`, and so is the last word of a client over TLS.
    """

    head_seconds: float = 10.0
    idle_seconds: float = 75.0
    unread_seconds: float = 30.0
    linger_seconds: float = 1.0


NOTE_ACTIVE: Final[web.RequestKey[Callable[[], None]]] = web.RequestKey("note_active")
"""Where the handler of a stream without end finds what to call whenever a message has come."""

READ_NO_MORE: Final[web.RequestKey[Callable[[], None]]] = web.RequestKey("read_no_more")
"""Where a handler finds what to call so that nothing that comes over the connection is read any more."""

HANG_UP: Final[web.RequestKey[Callable[[], None]]] = web.RequestKey("hang_up")
"""Where a handler finds what to call so that the connection ends at once, whatever the client sends meanwhile."""

USUAL_TIMES: Final = DoorTimes()
"""The times of ports that serve."""

HandshakeFailed = Callable[[ssl.SSLError], None]
"""Told why a handshake has failed."""


def _ignored(_: ssl.SSLError | asyncio.BaseTransport) -> None:
    """Who cannot shake hands is not served; nobody asks why."""


def _admitted(_: str) -> bool:
    return True


class DoorRules(NamedTuple):
    """Who may come in: `admits` is asked for each connection, by address. Between two messages (`NOTE_ACTIVE`) or heads
    a connection may send `unheard_bytes` at most; `floods` is told of one that sends more, which then ends.
    """

    admits: Callable[[str], bool] = _admitted
    unheard_bytes: float = math.inf
    floods: Callable[[asyncio.BaseTransport], None] = _ignored


EVERYBODY: Final = DoorRules()
"""The rules of ports whose pages bound what they read."""


def port_bound(descriptors: int, *, workers: int) -> int:
    """How many connections one port of the control process may have, with `descriptors` for the process.

    The others stay free for what the process has to do: follow the cluster, publish, and replace workers. With
    `workers` 0 the process also serves clients, who leave it a tenth of the descriptors, and at least 64.
    """
    spare = descriptors - _OF_THE_PROCESS - _OF_A_WORKER * (workers + 1) if workers else max(64, descriptors // 10)
    return max(_PORT_LEAST, min(PORT_MOST, spare // 4))


async def open_doors(
    app: web.Application,
    listener: socket.socket,
    *,
    bound: int = PORT_MOST,
    tls: ssl.SSLContext | None = None,
    times: DoorTimes = USUAL_TIMES,
    rules: DoorRules = EVERYBODY,
    on_failed_handshake: HandshakeFailed = _ignored,
) -> web.AppRunner:
    """Serves `app` on `listener`, and closes `listener` at the end. Returns what `cleanup()` stops.

    Bodies of requests stay as they come: nobody who asks here compresses, and a small body could become a large one.

    At most `bound` connections are open. Beyond `bound` a new one takes the place of another one (see `Crowd`).
    """
    doors = _Doors(listener, bound=bound, tls=tls, times=times, rules=rules, on_failed_handshake=on_failed_handshake)
    app.middlewares.append(doors.note_request)
    app.on_shutdown.append(doors.close)
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=_SHUTDOWN_SECONDS,
        keepalive_timeout=times.idle_seconds,
        lingering_time=times.linger_seconds,
        auto_decompress=False,
        logger=_LIBRARY_LOG,
    )
    await runner.setup()
    doors.open(runner)
    return runner


class _Doors:
    """Accepts the connections of one port."""

    def __init__(
        self,
        listener: socket.socket,
        *,
        bound: int,
        tls: ssl.SSLContext | None,
        times: DoorTimes,
        rules: DoorRules,
        on_failed_handshake: HandshakeFailed,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._tls = tls
        self._on_failed_handshake = on_failed_handshake
        self.times = times
        self.rules = rules
        self._crowd = Crowd[_Guest](bound)
        self._guests: dict[asyncio.BaseTransport, _Guest] = {}
        self._is_open = False
        self._serving: web.Server

    def open(self, runner: web.AppRunner) -> None:
        """Accepts from now on."""
        assert runner.server is not None  # the runner was set up before
        self._serving = runner.server
        self._is_open = True
        self._watch()

    async def close(self, _app: web.Application) -> None:
        """Accepts no more. The library ends the connections that speak to it."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._listener)
        self._listener.close()

    @web.middleware
    async def note_request(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Notes that a whole head has come."""
        guest = self._guests.get(request.transport) if request.transport is not None else None
        if guest is not None:
            guest.has_asked()
            self._crowd.active(guest)
            note: Callable[[], None] = partial(self._heard, guest)
            request[NOTE_ACTIVE] = note
            request[READ_NO_MORE] = guest.read_no_more
            request[HANG_UP] = guest.dismiss
        return await handler(request)

    def _heard(self, guest: _Guest) -> None:
        guest.unheard_bytes = 0
        self._crowd.active(guest)

    def joined(self, guest: _Guest, transport: asyncio.BaseTransport) -> None:
        """A connection speaks HTTP from now on."""
        self._guests[transport] = guest

    def left(self, guest: _Guest, transport: asyncio.BaseTransport | None) -> None:
        """A connection has ended. May be called twice."""
        self._crowd.leave(guest)
        if transport is not None:
            self._guests.pop(transport, None)

    def _watch(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, peer = self._listener.accept()  # uvloop needs a whole socket of Python
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._pause(error)
                return  # nobody waits, or the waiting client has left
            if not self.rules.admits(plain_address(peer[0])):
                connection.close()
                continue
            connection.setblocking(False)
            guest = _Guest(self, self._serving())
            self._dismiss(self._crowd.enter(guest, plain_address(peer[0])))
            self._begin(guest, connection)

    def _begin(self, guest: _Guest, connection: socket.socket) -> None:
        """Makes the transport of a connection, after its handshake if it has one."""
        tls = self._tls
        opening = self._loop.create_task(
            self._loop.connect_accepted_socket(
                lambda: guest,
                connection,
                ssl=tls,
                ssl_handshake_timeout=None if tls is None else self.times.head_seconds,
                ssl_shutdown_timeout=None if tls is None else self.times.linger_seconds,
            )
        )
        guest.handshake = None if tls is None else opening
        opening.add_done_callback(partial(self._begun, guest, connection))

    def _begun(self, guest: _Guest, connection: socket.socket, opening: asyncio.Task[Any]) -> None:
        """A connection has its transport, or its handshake has failed or was broken off."""
        guest.handshake = None
        failure = None if opening.cancelled() else opening.exception()
        if opening.cancelled() or failure is not None:
            connection.close()
            self.left(guest, None)
        if isinstance(failure, ssl.SSLError):
            self._on_failed_handshake(failure)
        if failure is not None and not isinstance(failure, OSError):
            _LOG.error("a connection could not be opened", exc_info=failure)

    def _pause(self, error: OSError) -> None:
        """Ends one connection and waits. Others in this process have used up the descriptors."""
        _LOG.warning("port %d pauses for %g s: %s", self._listener.getsockname()[1], _PAUSE_SECONDS, error.strerror)
        self._dismiss(self._crowd.expel())
        self._loop.remove_reader(self._listener)
        self._loop.call_later(_PAUSE_SECONDS, self._watch)

    @staticmethod
    def _dismiss(guest: _Guest | None) -> None:
        if guest is not None:
            guest.dismiss()


class _Guest(asyncio.Protocol):
    """One connection: passes everything on to the library's protocol, and ends what takes too long.

    `handshake` is under way until `connection_made`; None without TLS.
    """

    __slots__ = (
        "_deadline",
        "_doors",
        "_inner",
        "_is_deaf",
        "_is_dismissed",
        "_loop",
        "_paused_at",
        "_transport",
        "_unread_seconds",
        "handshake",
        "unheard_bytes",
    )

    def __init__(self, doors: _Doors, inner: asyncio.Protocol) -> None:
        self._doors = doors
        self._inner = inner
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._unread_seconds = doors.times.unread_seconds
        self._paused_at: float | None = None
        self._is_deaf = False
        self._is_dismissed = False
        self.unheard_bytes = 0
        self.handshake: asyncio.Task[Any] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not of this class
        self._doors.joined(self, transport)
        self._inner.connection_made(transport)
        if self._is_dismissed:
            self.dismiss()
        else:
            self._deadline = self._loop.call_later(self._doors.times.head_seconds, self._transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self._doors.left(self, self._transport)
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            self.read_no_more()  # the library has begun to read again
            return
        rules = self._doors.rules
        self.unheard_bytes += len(data)
        if self.unheard_bytes <= rules.unheard_bytes:
            self._inner.data_received(data)
        elif self._transport is not None:
            rules.floods(self._transport)
            self.dismiss()

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._stop_clock()
        self._paused_at = self._loop.time()
        self._deadline = self._loop.call_later(self._unread_seconds, self.dismiss)
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._stop_clock()
        if self._paused_at is not None:
            self._unread_seconds = max(0.0, self._unread_seconds - (self._loop.time() - self._paused_at))
            self._paused_at = None
        self._inner.resume_writing()

    def has_asked(self) -> None:
        """A whole head has come, so an answer begins."""
        if self._paused_at is None:  # else the client has not read the last answer yet
            self._stop_clock()
            self._unread_seconds = self._doors.times.unread_seconds
        self.unheard_bytes = 0

    def read_no_more(self) -> None:
        """What comes from now on waits in the kernel, and is lost in the end."""
        self._is_deaf = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def dismiss(self) -> None:
        """Ends the connection at once, or as soon as it has a transport."""
        self._is_dismissed = True
        transport = self._transport
        if transport is not None:
            self._transport = None
            self._doors.left(self, transport)
            reset_on_close(transport)
            transport.abort()
        elif self.handshake is not None:
            self.handshake.cancel()

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

"""Serves the webhook port: TLS, HTTP and limits around the judgement of AdmissionReviews.

Limits how many reviews are read and judged at once, and replaces certificates while it serves. It reads certificates
from a folder, such as a mounted Secret, and keeps the last good pair if a new pair is unusable. Does not know what a
review says, and never logs one.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from aiohttp import hdrs, web

from balancer.connections.listeners import listen, port_of
from balancer.connections.tls import make_context, self_signed
from balancer.model.certificates import Certificate
from balancer.runtime.shares import FairShares
from balancer.runtime.supervising import kept_at_work
from ingress.admin.doors import PORT_MOST, DoorTimes, open_doors
from ingress.webhook.admission import REVIEW_BYTES, AdmissionRefusal, namespace_of

CONCURRENT_REVIEWS: Final = 20
"""Of one namespace. Beyond this the answer is 503 at once, because the API server would rather continue without the
webhook than wait.
"""

UNREAD_REVIEWS: Final = 100
"""Bodies that may be received at once. A slow body costs little, and slow bodies do not keep out whole ones."""

CERTIFICATE_CHECK_SECONDS: Final = 10.0
"""How long a new certificate may stay unused. The old one is still valid, because renewals overlap."""

# The API server waits 5 s in all. A body that comes later is useless to it.
_READ_SECONDS: Final = 5.0
# For all bodies together: as much as may be judged at once.
_UNREAD_BYTES: Final = CONCURRENT_REVIEWS * REVIEW_BYTES
# One namespace alone holds half of them (`shares.py`).
_ALL_REVIEWS: Final = 2 * CONCURRENT_REVIEWS
# How long the rest of a refused body is read, because a reset would destroy the refusal.
_LINGER_SECONDS: Final = 1.0
# Enough for a chain with its key. A larger file is something else.
_PEM_BYTES: Final = 1024**2

_LOG = logging.getLogger(__name__)

Judge = Callable[[bytes], bytes | AdmissionRefusal]
"""Answers a review; called in another thread. This is `ingress.webhook.admission.review` with its context."""


async def start_webhook(
    *,
    host: str,
    port: int,
    certificate_dir: Path,
    judge: Judge,
    certificate_check_seconds: float = CERTIFICATE_CHECK_SECONDS,
    read_seconds: float = _READ_SECONDS,
    unread_bytes: int = _UNREAD_BYTES,
    bound: int = PORT_MOST,
) -> tuple[web.AppRunner, int]:
    """Serve `POST /validate` with TLS; the answer holds what `cleanup()` stops and the port in use (0: any free one).

    At most `bound` connections are open at once. `unread_bytes` is the most that bodies on their way may take together;
    beyond it the oldest body is given up.
    `certificate_dir` holds `tls.crt` and `tls.key` as a mounted TLS Secret does. While there is no usable pair, a
    self-signed certificate answers, which no API server trusts. Raises `CannotListen`.
    """
    served = _ServedCertificate(certificate_dir)
    await asyncio.to_thread(served.refresh)
    app = web.Application(client_max_size=REVIEW_BYTES)
    app.router.add_post("/validate", _Reviews(judge, bodies=_Bodies(read_seconds, unread_bytes)).answer)
    app.on_response_prepare.append(_anonymise)
    app.cleanup_ctx.append(_refreshing(served, interval_seconds=certificate_check_seconds))
    listener = listen(host, port, purpose="webhook")
    found = port_of(listener)
    runner = await open_doors(
        app,
        listener,
        bound=bound,
        tls=served.listener_context,
        times=DoorTimes(head_seconds=read_seconds, idle_seconds=read_seconds, linger_seconds=_LINGER_SECONDS),
    )
    return runner, found


class _Reviews:
    """Answers reviews, one judgement at a time, by turns of namespaces."""

    __slots__ = ("_bodies", "_judge", "_open", "_turn", "_turns")

    def __init__(self, judge: Judge, *, bodies: _Bodies) -> None:
        self._bodies = bodies
        self._judge = judge
        self._open = FairShares(_ALL_REVIEWS)
        # Threads share one interpreter. Judgements side by side would take as long, with the memory of all of them.
        self._turn = asyncio.Lock()
        # Of each namespace, one waits for the turn and the others wait for this one.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def answer(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json" or hdrs.CONTENT_ENCODING in request.headers:
            return _refusal(415, "send application/json without a content coding")
        try:
            body = await self._bodies.read(request)
        except TimeoutError:
            return _refusal(408, "the review did not arrive in time")
        except ConnectionError:  # the client has left; the library would log a traceback
            return _refusal(400, "the review was cut")
        if len(body) > REVIEW_BYTES:
            return _refusal(413, f"the review is larger than {REVIEW_BYTES} bytes")
        return await self._reviewed(body)

    async def _reviewed(self, body: bytes) -> web.Response:
        namespace = await asyncio.to_thread(namespace_of, body)
        # Only whole bodies count, because anybody in the cluster can send slow ones.
        if not self._open.take(namespace):
            return _refusal(503, "too many reviews at once")
        try:
            async with self._turn_of(namespace), self._turn:
                answer = await asyncio.to_thread(self._judge, body)
        finally:
            self._open.give_back(namespace)
        if isinstance(answer, AdmissionRefusal):
            return _refusal(answer.status, answer.message)
        return web.Response(body=answer, content_type="application/json")

    def _turn_of(self, namespace: str) -> asyncio.Lock:
        turn = self._turns.get(namespace)
        if turn is None:
            turn = asyncio.Lock()
            self._turns[namespace] = turn
        return turn


class _Bodies:
    """Reads bodies. If there is no room for another body, the oldest one is given up."""

    __slots__ = ("_bytes_max", "_read_seconds", "_unread")

    def __init__(self, read_seconds: float, bytes_max: int) -> None:
        self._read_seconds = read_seconds
        self._bytes_max = bytes_max
        self._unread: dict[asyncio.Timeout, int] = {}

    async def read(self, request: web.Request) -> bytes:
        """The body. A body that is too large is read only up to the limit. Raises TimeoutError and ConnectionError."""
        body = bytearray()
        async with asyncio.timeout(self._read_seconds) as patience:
            self._unread[patience] = 0
            self._make_room(patience, 0)
            try:
                while len(body) <= REVIEW_BYTES and (piece := await request.content.readany()):
                    body += piece
                    self._make_room(patience, len(body))
            finally:
                self._unread.pop(patience, None)
        return bytes(body)

    def _make_room(self, patience: asyncio.Timeout, size: int) -> None:
        if patience in self._unread:
            self._unread[patience] = size
        while len(self._unread) > UNREAD_REVIEWS or sum(self._unread.values()) > self._bytes_max:
            oldest = next(iter(self._unread))
            del self._unread[oldest]
            if not oldest.expired():
                oldest.reschedule(asyncio.get_running_loop().time())


def _refusal(status: int, message: str) -> web.Response:
    response = web.Response(status=status, text=f"{message}\n")
    # The rest of the body is not worth reading.
    response.force_close()
    return response


async def _anonymise(_request: web.Request, response: web.StreamResponse) -> None:
    """Removes the name and version of the library from the answer."""
    response.headers.popall(hdrs.SERVER, None)


class _ServedCertificate:
    """The certificate for the next handshake: the newest usable pair in the folder."""

    __slots__ = ("_current", "_folder", "_pair", "_problem", "listener_context")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pair: tuple[bytes, bytes] | None = None
        self._problem = ""
        self._current = make_context(self_signed())
        self.listener_context = make_context(self_signed())
        self.listener_context.sni_callback = self._choose

    def refresh(self) -> None:
        """Reads the folder again. Reads files, so it must not run in an event loop."""
        try:
            pair = self._read("tls.crt"), self._read("tls.key")
            if pair == self._pair:
                self._problem = ""
                return
            if b"ENCRYPTED" in pair[1]:
                # OpenSSL would ask the terminal for a passphrase, and wait.
                self._note("the key is encrypted")
                return
            self._current = make_context(Certificate("webhook", *pair, expires_at_epoch_seconds=0.0))
        # ssl.SSLError is an OSError: the pair does not match, for example while two files are being replaced
        except OSError as error:
            # The log shows the reason that the library gives, never the contents of the files.
            self._note(getattr(error, "reason", None) or error.strerror or type(error).__name__)
            return
        self._pair = pair
        self._problem = ""
        _LOG.info("the webhook serves a new certificate from %s", self._folder)

    def _read(self, name: str) -> bytes:
        with (self._folder / name).open("rb") as file:
            return file.read(_PEM_BYTES)

    def _note(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            kept = "the last one is kept" if self._pair else "no API server will trust this webhook"
            _LOG.warning("the webhook's certificate in %s cannot be used: %s; %s", self._folder, problem, kept)

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext) -> None:
        connection.context = self._current


def _refreshing(
    served: _ServedCertificate, *, interval_seconds: float
) -> Callable[[web.Application], AsyncIterator[None]]:
    """Refreshes the certificate during the life of an application."""

    async def refresh() -> None:
        await asyncio.sleep(interval_seconds)
        await asyncio.to_thread(served.refresh)

    async def live(_app: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(
            kept_at_work(refresh, what="refreshing the webhook's certificate", pause_seconds=0.0)
        )
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    return live

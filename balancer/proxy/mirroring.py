"""Copies requests to mirrors without holding up a request or failing one.

The copy leaves when the body of the request has passed, so the request never waits. What is too long or too much is
not copied. Does not know how a copy is sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Protocol

from balancer.http.messages import RequestHead, Trailers
from balancer.matching.gates.external_auth.requests import AuthRequest
from balancer.matching.gates.verdicts import Asked
from balancer.matching.mirroring import MirrorRequests
from balancer.proxy.bodies import KeptBody
from balancer.proxy.spooling import SpooledBody
from balancer.runtime.shares import FairShares

MIRRORED_BODY_BYTES: Final = 1024 * 1024
"""A request with a longer body is not copied; ingress-nginx takes bodies of 1 MiB unless an Ingress says otherwise."""
HELD_BYTES: Final = 32 * 1024 * 1024
"""The memory of the bodies of all copies of a worker, received or about to be. Divided among tenants."""
COPIES_AT_ONCE: Final = 2
"""The most copies of one request that are under way at once. Its others wait until one of them has ended."""

_NO_BODY: Final = 0


class CopySender(Protocol):
    """Sends copies. It bounds how many are under way."""

    def send(self, copy: AuthRequest, ended: Callable[[], None]) -> bool:
        """Sends `copy` and returns True; `ended` is called once, when the copy takes no memory any more.

        Returns False without room for another copy, and never calls `ended` then.
        """


class Mirrors:
    """Shared by the requests of one worker. `dropped` is called for each request that is not copied."""

    __slots__ = ("_bytes", "_dropped", "_sender")

    def __init__(self, sender: CopySender, dropped: Callable[[], None]) -> None:
        self._sender = sender
        self._dropped = dropped
        self._bytes = FairShares(HELD_BYTES)

    @property
    def held_bytes(self) -> int:
        """What the bodies of all copies take now."""
        return HELD_BYTES - self._bytes.free

    def begin(self, requests: MirrorRequests, asked: Asked, whole: SpooledBody | None = None) -> KeptBody | None:
        """Begins to copy a request that is about to be forwarded. `whole` is its body if that was received before.

        Returns what has to get the body of the request as it passes: `whole`, or None if nothing has to.
        """
        if not requests.is_due(asked.request):
            return whole
        copy = requests.copy_of(asked)
        if requests.with_body:
            return self.copy((copy,), asked.request, whole)
        self.leave((copy,), 0)
        return whole

    def copy(
        self, copies: tuple[AuthRequest, ...], request: RequestHead, whole: SpooledBody | None = None
    ) -> KeptBody | None:
        """Begins to send `copies`, each of which gets the body of `request`. Arguments and result as for `begin`."""
        size = request.body_bytes if whole is None else whole.size
        is_short = size is None or size <= MIRRORED_BODY_BYTES
        if whole is None and size != _NO_BODY and is_short and copies:
            return MirroredBody(self, copies)
        leaving: list[AuthRequest] = []
        for copy in copies:
            if is_short and self.hold(copy.tenant, size or 0):
                leaving.append(copy)
            else:
                self.drop()
        if leaving and whole is not None and size:
            body = b"".join(whole.pieces())
            leaving = [copy._replace(body=body) for copy in leaving]
        self.leave(leaving, size or 0)
        return whole

    def drop(self) -> None:
        """A copy is not made."""
        self._dropped()

    def hold(self, tenant: str, size: int) -> bool:
        """Takes room for `size` more bytes of a copy of `tenant`. Says whether there is room."""
        return not size or self._bytes.take(tenant, size)

    def give_up(self, tenant: str, size: int) -> None:
        """A copy of which `size` bytes were held does not leave."""
        self._free(tenant, size)
        self._dropped()

    def leave(self, copies: Iterable[AuthRequest], size: int) -> None:
        """Sends the copies of one request. Of each, `size` bytes of body are held until it has ended."""
        waiting = deque(copies)
        for _ in range(COPIES_AT_ONCE):
            self._leave_next(waiting, size)

    def _leave_next(self, waiting: deque[AuthRequest], size: int) -> None:
        while waiting:
            copy = waiting.popleft()
            if self._sender.send(copy, partial(self._ended, copy.tenant, size, waiting)):
                return
            self.give_up(copy.tenant, size)

    def _ended(self, tenant: str, size: int, waiting: deque[AuthRequest]) -> None:
        self._free(tenant, size)
        self._leave_next(waiting, size)

    def _free(self, tenant: str, size: int) -> None:
        if size:
            self._bytes.give_back(tenant, size)


class MirroredBody(KeptBody):
    """A body that is kept as usual, and copied to its end."""

    __slots__ = ("_copied", "_copies", "_is_lost", "_mirrors")

    def __init__(self, mirrors: Mirrors, copies: tuple[AuthRequest, ...]) -> None:
        """All `copies` are those of one tenant. Each counts as if it had a body of its own."""
        super().__init__()
        self._mirrors = mirrors
        self._copies = copies
        self._copied = bytearray()
        self._is_lost = False

    def add(self, data: bytes) -> None:
        """Copies the next piece, whether or not it is kept."""
        super().add(data)
        if self._is_lost:
            return
        size = len(data) * len(self._copies)
        if len(self._copied) + len(data) > MIRRORED_BODY_BYTES or not self._mirrors.hold(self._copies[0].tenant, size):
            self._lose()
        else:
            self._copied += data

    def end(self, trailers: Trailers) -> None:
        """The body has ended, so the copy leaves."""
        super().end(trailers)
        if not self._is_lost:
            self._is_lost = True  # a second end would be a second copy
            copied = bytes(self._copied)
            self._copied = bytearray()
            self._mirrors.leave([copy._replace(body=copied) for copy in self._copies], len(copied))

    def close(self) -> None:
        """The request is over. If its body did not come to an end, the copy does not leave."""
        if not self._is_lost:
            self._lose()

    def _lose(self) -> None:
        self._is_lost = True
        size = len(self._copied)
        self._copied = bytearray()
        for copy in self._copies:
            self._mirrors.give_up(copy.tenant, size)

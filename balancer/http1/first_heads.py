"""Remembers heads with which connections began, because many clients ask the same over a new connection each time. No
I/O.

A head outlives its connection here, so it may hold nothing that is one client's own: neither a field outside of those
that many clients send alike, nor a query.
"""

from __future__ import annotations

from balancer.http.messages import RequestHead
from balancer.http1.fieldlines import SHARED_NAMES
from balancer.http1.heads import REMEMBERED_BYTES_MAX
from balancer.model.settings import ProxySettings

_REMEMBERED_MAX = 64  # heads, each of a few KiB at most


class FirstHeads:
    """The heads that one worker remembers."""

    __slots__ = ("_read",)

    def __init__(self) -> None:
        # By the bytes of a head: the settings that it was read under, the request, and whether the connection goes on.
        self._read: dict[bytes, tuple[ProxySettings, RequestHead, bool]] = {}

    def find(self, data: bytes, settings: ProxySettings) -> tuple[ProxySettings, RequestHead, bool] | None:
        """The other arguments of `remember` for these bytes and settings; None if they are not remembered."""
        read = self._read.get(data)
        return read if read is not None and read[0] is settings else None

    def remember(self, head: bytes, settings: ProxySettings, request: RequestHead, keep_alive: bool) -> None:
        """From now on a connection that begins with exactly `head` has this request. With too many, all are forgotten.

        Neither long heads are remembered, nor those that ask for an upgrade, because the key of a WebSocket never
        repeats, nor those that may hold a secret.
        """
        if request.upgrade or len(head) > REMEMBERED_BYTES_MAX or not _may_be_shared(request):
            return
        heads = self._read
        if len(heads) >= _REMEMBERED_MAX:
            heads.clear()
        heads[head] = settings, request, keep_alive


def _may_be_shared(request: RequestHead) -> bool:
    """Whether nothing in the head is one client's own. Fields that decide framing are not among `request.fields`."""
    return b"?" not in request.raw_target and all(name in SHARED_NAMES for name, _ in request.fields)

"""Remembers heads with which connections began, because many clients ask the same over a new connection each time. No
I/O.
"""

from __future__ import annotations

from balancer.http.messages import RequestHead
from balancer.http1.heads import REMEMBERED_BYTES_MAX
from balancer.model.settings import ProxySettings

_REMEMBERED_MAX = 64  # heads, each of a few KiB at most

# By the bytes of a head: the settings that it was read under, the request, and whether it lets the connection go on.
_READ: dict[bytes, tuple[ProxySettings, RequestHead, bool]] = {}


def find(data: bytes, settings: ProxySettings) -> tuple[ProxySettings, RequestHead, bool] | None:
    """What `remember` was told of these bytes under these settings; None if nothing is remembered."""
    read = _READ.get(data)
    return read if read is not None and read[0] is settings else None


def remember(head: bytes, settings: ProxySettings, request: RequestHead, keep_alive: bool) -> None:
    """From now on a connection that begins with exactly `head` has this request. With too many, all are forgotten.

    Neither long heads are remembered, nor those that ask for an upgrade, because the key of a WebSocket never repeats.
    """
    if request.upgrade or len(head) > REMEMBERED_BYTES_MAX:
        return
    if len(_READ) >= _REMEMBERED_MAX:
        _READ.clear()
    _READ[head] = settings, request, keep_alive

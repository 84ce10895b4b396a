"""What all HTTP/1 connections from the clients of one worker share."""

from __future__ import annotations

from balancer.connections.unread import Unread
from balancer.http.current import CurrentSettings
from balancer.http1.first_heads import FirstHeads
from balancer.runtime.deadlines import Deadlines

LINGER_SECONDS = 2.0
"""How long a client may go on sending after its last answer before its connection is cut."""


class ClientContext:
    """`settings` are those in use, `unread` bounds the answers that clients leave unread.

    `first_heads` are the heads with which other connections began.
    """

    __slots__ = ("deadlines", "first_heads", "linger_seconds", "settings", "unread")

    def __init__(
        self, settings: CurrentSettings, deadlines: Deadlines, unread: Unread, linger_seconds: float = LINGER_SECONDS
    ) -> None:
        self.settings = settings
        self.deadlines = deadlines
        self.unread = unread
        self.linger_seconds = linger_seconds
        self.first_heads = FirstHeads()

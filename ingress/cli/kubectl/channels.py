"""The messages of one forwarded connection on a WebSocket, in the protocol v4.channel.k8s.io.

Each message begins with the number of its channel: 0 carries the bytes of the connection, 1 the text of an error. On
both the server first sends the number of the port, in two bytes (k8s.io/kubelet, pkg/cri/streaming/portforward). Pure.
"""

from __future__ import annotations

from typing import Final

PROTOCOL: Final = "v4.channel.k8s.io"

_DATA: Final = 0
_PORT_BYTES: Final = 2


class ForwardRefused(Exception):
    """The pod does not take the connection; the text is what the server said."""


class Channels:
    """The two channels of one connection."""

    __slots__ = ("_awaited",)

    def __init__(self) -> None:
        self._awaited = {0: _PORT_BYTES, 1: _PORT_BYTES}

    def received(self, message: bytes) -> bytes:
        """The bytes of the connection that a message brings. Raises `ForwardRefused` if it brings an error."""
        if not message or message[0] not in self._awaited:
            return b""
        channel, content = message[0], message[1:]
        skipped = min(self._awaited[channel], len(content))
        self._awaited[channel] -= skipped
        content = content[skipped:]
        if channel == _DATA or not content:
            return content if channel == _DATA else b""
        raise ForwardRefused(content.decode(errors="replace"))

    @staticmethod
    def message(content: bytes) -> bytes:
        """The message that takes bytes of the connection to the pod."""
        return bytes((_DATA,)) + content

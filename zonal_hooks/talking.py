"""What a worker and the process of its isolated hooks say to each other: messages of msgpack, each with its length."""

from __future__ import annotations

from typing import Final

import msgspec

from zonal_hooks.limits import Limits
from zonal_hooks.manifests import Asked
from zonal_hooks.verdicts import Denied, Failed, Passed, Replied

MESSAGE_BYTES_MOST: Final = 1024 * 1024
_LENGTH_BYTES: Final = 4


class Begin(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Confine yourself by these limits, and load these hooks."""

    hooks: tuple[Asked, ...]
    limits: Limits = Limits()


class Call(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Calls one phase of a hook. The fields are those of a `Request`; `status` and `answered` those of a `Response`."""

    number: int
    hook: str
    phase: str
    settings: str
    fields: tuple[tuple[bytes, bytes], ...]
    method: bytes
    authority: bytes
    path: bytes
    target: bytes
    client: str = ""
    is_tls: bool = False
    id: bytes = b""
    route: str = ""
    body: bytes | None = None
    status: int = 0
    answered: tuple[tuple[bytes, bytes], ...] = ()


class Begun(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The hooks are loaded. `problems` say which are not; `unconfined` what could not be limited."""

    problems: tuple[tuple[str, str], ...] = ()
    unconfined: tuple[str, ...] = ()


class Answer(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The verdict of a call."""

    number: int
    verdict: Passed | Denied | Replied | Failed


ToHost = Begin | Call
FromHost = Begun | Answer

TO_HOST: Final = msgspec.msgpack.Decoder(ToHost)
FROM_HOST: Final = msgspec.msgpack.Decoder(FromHost)
_encoder: Final = msgspec.msgpack.Encoder()


class Garbled(Exception):
    """The bytes are no message."""


def framed(message: ToHost | FromHost) -> bytes:
    """`message` as it goes over the socket. Raises `Garbled` if it is too long."""
    body = _encoder.encode(message)
    if len(body) > MESSAGE_BYTES_MOST:
        raise Garbled(f"a message of {len(body)} bytes is too long")
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


class Frames:
    """Cuts a stream of bytes into the bodies of messages."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that are whole now. Raises `Garbled` for one that is too long."""
        buffer = self._buffer
        buffer += data
        bodies, begin = [], 0
        while len(buffer) - begin >= _LENGTH_BYTES:
            length = int.from_bytes(buffer[begin : begin + _LENGTH_BYTES], "big")
            if length > MESSAGE_BYTES_MOST:
                raise Garbled(f"a message of {length} bytes is too long")
            if len(buffer) - begin - _LENGTH_BYTES < length:
                break
            begin += _LENGTH_BYTES
            bodies.append(bytes(buffer[begin : begin + length]))
            begin += length
        del buffer[:begin]
        return bodies

"""Publications as bytes and back, for the way from the control plane to a worker. It must not know that way."""

from __future__ import annotations

import msgspec

from balancer.model import Publication

_VERSION = b"zonal2\n"  # raise it with every change of the model's shape

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Publication)

# msgspec checks UTF-8 and nesting with Python's own errors, outside its tree.
_GARBAGE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class CodecError(Exception):
    """Bytes that are not a publication of this version."""


def encode(publication: Publication) -> bytes:
    """`publication` as bytes that `decode` of the same version reads."""
    return _VERSION + _encoder.encode(publication)


def decode(data: bytes) -> Publication:
    """The publication in `data`. Raises `CodecError`."""
    if not data.startswith(_VERSION):
        raise CodecError("not a publication of this version")
    try:
        return _decoder.decode(memoryview(data)[len(_VERSION) :])
    except _GARBAGE as error:
        raise CodecError(str(error)) from None

"""The option about the keys that tenants hand in: how large an RSA key may be.

It must not know how keys are read.
"""

from __future__ import annotations

import re

import msgspec

from ingress.findings import Severity
from ingress.settings.table.option import cluster_option
from ingress.settings.unsupported import Loss
from ingress.settings.values import InvalidValue

_LEAST, _MOST = 2048, 16384  # OpenSSL verifies nothing with larger ones
_NUMBER = re.compile(r"[0-9]{1,5}")


class KeyBounds(msgspec.Struct, frozen=True):
    """What the operator says about keys: the bits of the largest RSA key that handshakes may sign with."""

    rsa_bits_most: int = 4096


def rsa_bits(text: str) -> int:
    """A number of bits that an RSA key may have at most."""
    if not _NUMBER.fullmatch(text) or not _LEAST <= int(text) <= _MOST:
        raise InvalidValue(f"use a whole number from {_LEAST} to {_MOST}")
    return int(text)


TLS_KEY_OPTIONS = (
    cluster_option(
        name="max-rsa-key-bits",
        fills=(KeyBounds, "rsa_bits_most"),
        grammar=rsa_bits,
        default="4096",
        doc="the largest RSA key, in bits, that a Secret may hold for handshakes; a larger one is refused. A signature"
        " takes 1 ms of a worker with 2048, 7 ms with 4096, 50 ms with 8192",
        if_invalid=Loss(Severity.DEGRADED, "RSA keys of more than 4096 bits are refused"),
    ),
)

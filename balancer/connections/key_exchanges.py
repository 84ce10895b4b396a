"""Lets handshakes exchange keys on curves alone, which costs a millisecond or two.

The peer chooses the group. OpenSSL also takes those of RFC 7919, of which the largest costs 120 ms for one ClientHello
(CVE-2002-20001), and in TLS 1.2 any that an endpoint makes up. Does not know contexts.
"""

from __future__ import annotations

import _ssl
import logging
import os
import ssl
from threading import Lock
from typing import Final

_LOG = logging.getLogger(__name__)

# OpenSSL 3.5 puts a hybrid before them, and says by signs what a client sends a key for.
_CURVES: Final = b"X25519:P-256:X448:P-384:P-521"
_NEWER: Final = b"?*X25519MLKEM768 / ?*X25519:?P-256 / ?X448:?P-384:?P-521"
_CONFIGURATION: Final = (
    b"openssl_conf = zonal\n[zonal]\nssl_conf = tls\n[tls]\nsystem_default = all\n[all]\nGroups = %b\n"
)
_LOCK = Lock()
_IS_SET: list[bool] = []


def groups_of(version: int) -> bytes:
    """What counts, as a list of OpenSSL, for a library of this `OPENSSL_VERSION_NUMBER`."""
    return _NEWER if version >= 0x3050_0000 else _CURVES


def only_curves() -> bool:
    """Contexts of `ssl` that are made from now on exchange keys on curves alone. May be called in any thread.

    `ssl` has no setting for a list, so OpenSSL is told as by its own configuration. Returns whether it could be told: a
    Python that has OpenSSL inside exports nothing, and then OpenSSL's own list counts.
    """
    with _LOCK:
        if not _IS_SET:
            _IS_SET.append(_is_told(groups_of(ssl.OPENSSL_VERSION_NUMBER)))
            if not _IS_SET[0]:
                _LOG.warning("OpenSSL cannot be told which groups count; clients may choose costly ones")
        return _IS_SET[0]


def without_finite_fields(context: ssl.SSLContext) -> None:
    """Takes the ciphers from `context` whose group the server makes up (TLS 1.2). Raises ssl.SSLError for no others."""
    names = [each["name"] for each in context.get_ciphers()]
    context.set_ciphers(":".join(name for name in names if not name.startswith("DHE-")))


def _is_told(groups: bytes) -> bool:
    import ctypes

    descriptor = os.memfd_create("groups", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, _CONFIGURATION % groups)
        # The library that `ssl` has loaded is found by way of the module that needs it.
        load = ctypes.CDLL(getattr(_ssl, "__file__", None)).CONF_modules_load_file
        load.argtypes = ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong
        load.restype = ctypes.c_int
        return int(load(b"/proc/self/fd/%d" % descriptor, None, 0)) == 1
    except (AttributeError, OSError):
        return False
    finally:
        os.close(descriptor)

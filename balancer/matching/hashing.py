"""Checks a password against its stored form. Takes up to a second of CPU: never call this on an event loop.

Compares in constant time. Its libraries take a tenth of a second to import, so only what checks passwords imports it.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Mapping
from hashlib import sha1

import bcrypt
from passlib.handlers.des_crypt import des_crypt
from passlib.handlers.md5_crypt import apr_md5_crypt, md5_crypt
from passlib.handlers.sha2_crypt import sha256_crypt, sha512_crypt

from balancer.matching.stored_hashes import PASSWORD_BYTES_MAX, Scheme, scheme_of

_SHA1_BYTES = 20
_BCRYPT_BYTES = 72  # bcrypt reads no more of a password; the library raises instead of cutting


def is_password(stored: str, password: bytes) -> bool:
    """Whether `stored` was made from `password`.

    A stored text of no known scheme, a password that is too long and one with a zero byte, at which C would end it,
    are refused. Never raises for these.
    """
    scheme = scheme_of(stored)
    if scheme is None or not password or len(password) > PASSWORD_BYTES_MAX or b"\0" in password:
        return False
    try:
        return _CHECKS[scheme](stored, password)
    except ValueError:  # the form fits, and the library refuses the salt or the padding all the same
        return False


def _bcrypt(stored: str, password: bytes) -> bool:
    return bcrypt.checkpw(password[:_BCRYPT_BYTES], stored.encode("ascii"))


def _sha1(stored: str, password: bytes) -> bool:
    made = base64.b64encode(sha1(password, usedforsecurity=False).digest())
    return hmac.compare_digest(made, stored.removeprefix("{SHA}").encode("ascii"))


def _salted_sha1(stored: str, password: bytes) -> bool:
    held = base64.b64decode(stored.removeprefix("{SSHA}"), validate=True)
    digest, salt = held[:_SHA1_BYTES], held[_SHA1_BYTES:]
    return hmac.compare_digest(sha1(password + salt, usedforsecurity=False).digest(), digest)


def _plain(stored: str, password: bytes) -> bool:
    return hmac.compare_digest(stored.removeprefix("{PLAIN}").encode("latin-1"), password)


_CHECKS: Mapping[Scheme, Callable[[str, bytes], bool]] = {
    Scheme.BCRYPT: _bcrypt,
    Scheme.APR1: lambda stored, password: bool(apr_md5_crypt.verify(password, stored)),
    Scheme.MD5_CRYPT: lambda stored, password: bool(md5_crypt.verify(password, stored)),
    Scheme.SHA256_CRYPT: lambda stored, password: bool(sha256_crypt.verify(password, stored)),
    Scheme.SHA512_CRYPT: lambda stored, password: bool(sha512_crypt.verify(password, stored)),
    Scheme.DES_CRYPT: lambda stored, password: bool(des_crypt.verify(password, stored)),
    Scheme.SHA1: _sha1,
    Scheme.SALTED_SHA1: _salted_sha1,
    Scheme.PLAIN: _plain,
}

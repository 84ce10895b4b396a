"""Reads the user and password that a client sends with each request (RFC 7617). No I/O."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import NamedTuple

from balancer.http.messages import Fields

_SCHEME = b"basic "


class UserPassword(NamedTuple):
    """What a client signs in with. The password may be empty, as in nginx's `$remote_user`."""

    user: bytes
    password: bytes


def basic_credentials(fields: Fields) -> UserPassword | None:
    """The user and password in the Authorization field; None if there is no such field, or not exactly one.

    The user is not empty, as in nginx (ngx_http_auth_basic_user).
    """
    given = [value for name, value in fields if name == b"authorization"]
    if len(given) != 1 or given[0][: len(_SCHEME)].lower() != _SCHEME:
        return None
    encoded = given[0][len(_SCHEME) :].strip(b" ")
    try:
        text = b64decode(encoded + b"=" * (-len(encoded) % 4), validate=True)
    except binascii.Error:
        return None
    user, colon, password = text.partition(b":")
    return UserPassword(user, password) if user and colon else None

"""What a hook may return in place of letting a message pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from zonal_hooks.headers import checked_name, checked_value

BODY_BYTES_MOST: Final = 64 * 1024
"""The largest body that a hook gets or answers with."""

FIELDS_MOST: Final = 64
"""How many fields a hook may write to one message."""


class Deny:
    """The request is refused with `status` (400 to 599) and a small page; the error pages of the route apply."""

    __slots__ = ("status",)

    def __init__(self, status: int = 403) -> None:
        if type(status) is not int or not 400 <= status <= 599:
            raise ValueError("Deny has a status from 400 to 599")
        self.status = status

    def __repr__(self) -> str:
        return f"Deny({self.status})"


class Reply:
    """The request is answered with this response.

    `headers` are names and values, as a mapping or as pairs. A text as `body` is sent as UTF-8. Content-Length and Date
    are added.
    """

    __slots__ = ("body", "fields", "status")

    def __init__(
        self, status: int, headers: Mapping[str, str] | Sequence[tuple[str, str]] = (), body: str | bytes = b""
    ) -> None:
        if type(status) is not int or not 200 <= status <= 599:
            raise ValueError("Reply has a status from 200 to 599")
        pairs = tuple(headers.items()) if isinstance(headers, Mapping) else tuple(headers)
        if len(pairs) > FIELDS_MOST:
            raise ValueError(f"a reply has at most {FIELDS_MOST} fields")
        content = body.encode() if isinstance(body, str) else bytes(body)
        if len(content) > BODY_BYTES_MOST:
            raise ValueError(f"the body of a reply has at most {BODY_BYTES_MOST} bytes")
        if content and status in {204, 205, 304}:
            raise ValueError(f"a reply with the status {status} has no body")
        self.status = status
        self.fields = tuple((checked_name(name), checked_value(value)) for name, value in pairs)
        self.body = content

    def __repr__(self) -> str:
        return f"Reply({self.status})"

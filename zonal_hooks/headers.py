"""Header fields as hooks read them, and what a hook must not write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar, overload

import msgspec

Field = tuple[bytes, bytes]
"""Name in lower case, and value without white space around it."""

NAME_CHARACTERS_MOST: Final = 256
VALUE_CHARACTERS_MOST: Final = 8 * 1024

FRAMING: Final = frozenset(
    (
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
"""Names that frame a message, belong to one connection (RFC 9110 7.6.1) or choose the host. No hook writes them."""

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110 5.6.2
_VALUE = re.compile(r"(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?")  # RFC 9110 5.5

_Default = TypeVar("_Default")


class Headers(msgspec.Struct, frozen=True, eq=False):
    """The header fields of a message, in their order; names are compared without case. It cannot be changed.

    The names that it is made of are in lower case.
    """

    _fields: tuple[Field, ...] = ()

    @overload
    def get(self, name: str) -> str | None: ...
    @overload
    def get(self, name: str, default: _Default) -> str | _Default: ...
    def get(self, name: str, default: object = None) -> object:
        """The first value of a field, else `default`."""
        wanted = _READ_NAMES.get(name) or _read_name(name)
        for each, value in self._fields:
            if each == wanted:
                return value.decode("latin-1")
        return default

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a field, in order."""
        wanted = _READ_NAMES.get(name) or _read_name(name)
        return tuple(value.decode("latin-1") for each, value in self._fields if each == wanted)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __getitem__(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Names and values."""
        return iter([(name.decode("latin-1"), value.decode("latin-1")) for name, value in self._fields])

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Headers({list(self)!r})"


# A hook reads the same names again. A longer name is not remembered, because clients may have said it.
_READ_NAMES: Final[dict[str, bytes]] = {}
_REMEMBERED_MOST: Final = 256


def _read_name(name: str) -> bytes:
    """`name` as fields have it, which is remembered for the next time."""
    folded = name.lower().encode("latin-1", "replace")
    if len(name) <= NAME_CHARACTERS_MOST:
        if len(_READ_NAMES) >= _REMEMBERED_MOST:
            _READ_NAMES.clear()
        _READ_NAMES[name] = folded
    return folded


class WrittenName(NamedTuple):
    """A name that a hook may write: as it is written, and what a field of this name takes the place of."""

    written: bytes
    removes: frozenset[bytes]


@lru_cache(maxsize=_REMEMBERED_MOST)  # a hook writes the same names again
def written_name(name: str) -> WrittenName:
    """`name` for an edit. Raises ValueError for a name that is none, or that a hook must not write."""
    if type(name) is not str:
        raise TypeError(f"a header name is a str, not {type(name).__name__}")
    if len(name) > NAME_CHARACTERS_MOST or not _TOKEN.fullmatch(name):
        raise ValueError("this is no header name")
    if name.lower() in FRAMING:
        raise ValueError(f"{name} frames the message or belongs to a connection: a hook must not write it")
    written = name.encode("ascii")
    return WrittenName(written, frozenset((written.lower(),)))


def checked_name(name: str) -> bytes:
    """`name` as it is written. Raises as `written_name` does."""
    return written_name(name).written


def checked_value(value: str) -> bytes:
    """`value` as it is written. Raises ValueError for CR, LF, NUL, other control characters, and for a long one."""
    if type(value) is not str:
        raise TypeError(f"a header value is a str, not {type(value).__name__}")
    if len(value) > VALUE_CHARACTERS_MOST:
        raise ValueError(f"a header value has at most {VALUE_CHARACTERS_MOST} characters")
    if value.isascii() and value.isprintable() and value.strip() == value:  # nearly all, at a third of the cost
        return value.encode("ascii")
    if not _VALUE.fullmatch(value):
        raise ValueError("a header value has no control characters, no white space at its ends, and is latin-1")
    return value.encode("latin-1")

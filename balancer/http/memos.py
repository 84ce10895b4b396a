"""Keeps beside a head, or beside the origin of requests, what each version of HTTP has made of it. No I/O.

Only the version that made a memo knows its class, so a further version adds nothing here.
"""

from __future__ import annotations

from typing import TypeVar


class Memo:
    """What one version of HTTP has made. `beside`: what another one made of the same, None if there is none."""

    __slots__ = ("beside",)

    def __init__(self) -> None:
        self.beside: Memo | None = None


class Remembering:
    """Something of which versions of HTTP make memos. `memo`: the one asked for last, None before the first."""

    __slots__ = ("memo",)

    memo: Memo | None


_M = TypeVar("_M", bound=Memo)


def recalled(about: Remembering, kind: type[_M]) -> _M:
    """The memo of this kind about something, an empty one if there was none. From now on it stands first."""
    first = about.memo
    if first is None:  # mostly
        made = kind()
        about.memo = made
        return made
    before: Memo | None = None
    memo: Memo | None = first
    while memo is not None and not isinstance(memo, kind):
        before, memo = memo, memo.beside
    if memo is None:
        memo = kind()
        memo.beside = first
    elif before is not None:
        before.beside = memo.beside
        memo.beside = first
    about.memo = memo
    return memo

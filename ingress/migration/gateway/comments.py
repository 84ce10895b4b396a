"""Finds the comments of an object that was read with its comments, so that a new object can begin with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ruamel.yaml.comments import CommentedBase, CommentedMap, CommentedSeq


def comments_of(item: Any, place: str = "") -> Iterator[str]:
    """Each comment of an object as one line: where it stands, and its text. Objects without comments have none."""
    if not isinstance(item, CommentedBase):
        return
    for key, tokens in sorted(item.ca.items.items(), key=lambda each: str(each[0])):
        for text in _texts(tokens):
            yield f"{_below(place, key)}: {text}"
    for text in _texts(item.ca.comment):
        yield f"{place}: {text}" if place else text
    pairs = (
        item.items() if isinstance(item, CommentedMap) else enumerate(item) if isinstance(item, CommentedSeq) else ()
    )
    for key, inner in pairs:
        yield from comments_of(inner, _below(place, key))


def _below(place: str, key: object) -> str:
    return f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}" if place else str(key)


def _texts(tokens: Any) -> Iterator[str]:
    """The texts of tokens, which stand in nested lists with gaps."""
    if isinstance(tokens, list):
        for each in tokens:
            yield from _texts(each)
    elif tokens is not None:
        for line in tokens.value.splitlines():
            if text := line.strip().lstrip("#").strip():
                yield text

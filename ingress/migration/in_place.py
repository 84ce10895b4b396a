"""Changes the class of Ingresses where they stand, and nothing else in their files.

Edits text at the places that the parser names, so that a change is one line of a diff. Does not know which Ingresses
are moved, nor how files are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ingress.migration.round_trips import place_of, read_documents
from ingress.translation.ingress.acceptance import CLASS_ANNOTATION

_SCALAR = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[A-Za-z0-9][A-Za-z0-9.-]*")
_PLACES = (("spec", "ingressClassName"), ("metadata", "annotations", CLASS_ANNOTATION))


class Reclassed(NamedTuple):
    """A file with new classes. `names` are the Ingresses that were changed, `by_hand` those that could not be."""

    text: str
    names: tuple[str, ...]
    by_hand: tuple[str, ...]


def with_class(text: str, class_name: str, *, is_moved: Callable[[dict[str, Any]], bool], old_class: str) -> Reclassed:
    """`text` with `class_name` in the place of `old_class`, for every Ingress in the file that `is_moved` names."""
    lines = text.splitlines(keepends=True)
    names: list[str] = []
    by_hand: list[str] = []
    for document in read_documents(text):
        if document.get("kind") != "Ingress" or not is_moved(document):
            continue
        done = [_replaced(lines, place, old_class, class_name) for place in _places(document)]
        (names if done and all(done) else by_hand).append(str(document["metadata"]["name"]))
    return Reclassed("".join(lines), tuple(names), tuple(by_hand))


def _places(document: dict[str, Any]) -> Iterator[tuple[int, int]]:
    for keys in _PLACES:
        if (place := place_of(document, *keys)) is not None:
            yield place


def _replaced(lines: list[str], place: tuple[int, int], old: str, new: str) -> bool:
    """Whether a class stood at the place, and another one stands there now."""
    number, column = place
    found = _SCALAR.match(lines[number], column) if number < len(lines) else None
    if found is None or found[0].strip("\"'") != old:
        return False
    lines[number] = lines[number][:column] + found[0].replace(old, new) + lines[number][found.end() :]
    return True

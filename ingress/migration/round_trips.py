"""Reads and writes YAML for people: comments, quotes, numbers as they are written, and the order of keys stay.

ruamel.yaml is loaded only where files are moved. Does not know what the documents mean. Files were bounded before, by
`ingress/sources/documents.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import CommentMark
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from ruamel.yaml.tokens import CommentToken

from ingress.migration.plain_words import is_plain

_WIDTH = 4096  # no text is broken
_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
# Where the parser keeps, of the comments about a key, the lines above it, and what stands behind its value.
_ABOVE, _BEHIND = 1, 2


class _AsWritten(VersionedResolver):
    """Takes every plain word for a text, so that it is written as it was: `1e3` is no number, and 0o7 not 7."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        if kind is ScalarNode and value not in _NOTHING:
            return self.DEFAULT_SCALAR_TAG
        return super().resolve(kind, value, implicit)


def read_documents(text: str) -> Iterator[dict[str, Any]]:
    """The objects in a file, also those of a list. What is no object is left out."""
    for document in _yaml().load_all(text):
        if not isinstance(document, CommentedMap):
            continue
        kind, items = document.get("kind"), document.get("items")
        if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list):
            yield document
            continue
        for item in items:
            if isinstance(item, CommentedMap):
                if kind != "List":  # items of a typed list have neither apiVersion nor kind
                    item.insert(0, "kind", kind.removesuffix("List"))
                    item.insert(0, "apiVersion", document.get("apiVersion"))
                yield item


def write_documents(documents: list[dict[str, Any]], opened: TextIO) -> None:
    """Writes the objects one after the other. Labels and annotations that a parser may read as numbers get quotes."""
    yaml = _yaml()
    yaml.explicit_start = True
    for document in documents:
        for field in ("labels", "annotations"):
            _quote(document["metadata"].get(field))
    yaml.dump_all(documents, opened)


def _quote(texts: Any) -> None:
    """Puts plain words in quotes, in place, that are not the same text for every parser."""
    for name, text in tuple(texts.items()) if isinstance(texts, dict) else ():
        if type(text) is str and not is_plain(text):
            texts[name] = DoubleQuotedScalarString(text)


def without_key(mapping: dict[str, Any], key: str) -> None:
    """Takes a key with a plain value away, in place. Comments on lines of their own below it stay where they are."""
    names = [*mapping]
    at = names.index(key)
    below = _lines_below(mapping, key)
    del mapping[key]
    if not below or not isinstance(mapping, CommentedMap):
        return
    del mapping.ca.items[key]
    if at:
        before = mapping.ca.items.setdefault(names[at - 1], [None] * 4)
        said = before[_BEHIND].value if before[_BEHIND] is not None else "\n"
        before[_BEHIND] = CommentToken(said + below, CommentMark(0), None)
    elif len(names) > 1:
        after = mapping.ca.items.setdefault(names[1], [None] * 4)
        column = mapping.lc.key(names[1])[1]
        lines = [CommentToken(f"{line.strip()}\n", CommentMark(column), None) for line in below.splitlines()]
        after[_ABOVE] = [*lines, *(after[_ABOVE] or ())]


def _lines_below(mapping: dict[str, Any], key: str) -> str:
    """The comments on lines of their own between a key with a plain value and the next one."""
    comments = mapping.ca.items.get(key) if isinstance(mapping, CommentedMap) else None
    if not comments or comments[_BEHIND] is None:
        return ""
    return str(comments[_BEHIND].value).partition("\n")[2]


def rename_key(mapping: dict[str, Any], old: str, new: str) -> None:
    """Gives a key another name, in its place and with its comments."""
    if isinstance(mapping, CommentedMap):
        comments = mapping.ca.items.pop(old, None)
        mapping.insert([*mapping].index(old), new, mapping.pop(old))
        if comments is not None:
            mapping.ca.items[new] = comments
        return
    named = {new if name == old else name: value for name, value in mapping.items()}
    mapping.clear()
    mapping.update(named)


def place_of(document: dict[str, Any], *keys: str) -> tuple[int, int] | None:
    """The line and the column, from 0, where the value of a key of nested objects begins; None: there is none."""
    inner: Any = document
    for key in keys[:-1]:
        inner = inner.get(key) if isinstance(inner, CommentedMap) else None
    if not isinstance(inner, CommentedMap) or keys[-1] not in inner:
        return None
    line, column = inner.lc.value(keys[-1])
    return int(line), int(column)


def line_of_key(mapping: Any, key: str) -> int:
    """The line, from 1, on which a key of a mapping stands that was read here."""
    return int(mapping.lc.key(key)[0]) + 1


def _yaml() -> YAML:
    yaml = YAML(typ="rt", pure=True)
    yaml.Resolver = _AsWritten
    yaml.preserve_quotes = True
    yaml.allow_duplicate_keys = True
    yaml.width = _WIDTH
    return yaml


def read_file(place: Path) -> str:
    """The text of a file that was read before."""
    return place.read_text(encoding="utf-8-sig")

"""Reads and writes YAML for people: comments, quotes, numbers as they are written, and the order of keys stay.

ruamel.yaml is loaded only where files are moved. Does not know what the documents mean. Files were bounded before, by
`ingress/sources/documents.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

_WIDTH = 4096  # no text is broken
_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9/.-]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})


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
        if type(text) is str and (not _PLAIN.fullmatch(text) or text.lower() in _WORDS):
            texts[name] = DoubleQuotedScalarString(text)


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

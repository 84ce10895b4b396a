"""Parses the bytes of a manifest file into plain values, whatever the file contains.

Bounds what a file may cost: depth, values and numbers are limited before anything is built, because the parser crashes
the process on deep nesting and follows aliases without end. Does not know what the documents mean, nor where the bytes
come from.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import msgspec
import yaml

FILE_BYTES = 16 * 1024 * 1024
"""A larger file is not read. etcd stores objects of up to 1.5 MiB, so ten of the largest objects fit."""

# Our kinds nest 10 deep, CustomResourceDefinitions about 50. The parser crashes beyond 20,000.
_DEPTH = 100
# The cost of one value beside its characters. A file may hold one text of the largest size, or a million values (5 s of
# reading; 5,000 endpoints have 60,000 values). Aliases count as if written out.
_VALUE_SIZE = 32
_SIZE = 2 * FILE_BYTES
# No number of Kubernetes has more characters. Python reads longer numbers in quadratic time, or not at all.
_NUMBER_CHARACTERS = 64
# The parser compares every directive with all directives before it. In UTF-16 each letter has a zero byte beside it.
_DIRECTIVE = re.compile(rb"%\0?T\0?A\0?G")
_DIRECTIVES = 100
# Hashes of numbers can be made to collide, unlike those of texts, and a mapping with such keys takes quadratic time.
_NUMBER_KEYS = 1000

_INTEGER, _FLOAT, _TEXT, _TIMESTAMP = (f"tag:yaml.org,2002:{name}" for name in ("int", "float", "str", "timestamp"))


class Unparsable(ValueError):
    """A file cannot be parsed. The text is a sentence without subject and full stop, and shows nothing of the file's
    contents.
    """


def parse(data: bytes, *, is_json: bool) -> list[object]:
    """The documents of a file as plain values; None for an empty document. Raises only `Unparsable`."""
    try:
        return [_json(data)] if is_json else _yaml(data)
    except Unparsable:
        raise
    except Exception as error:
        # PyYAML's constructors raise KeyError, AttributeError and more for badly tagged scalars.
        raise Unparsable(f"is not valid {'JSON' if is_json else 'YAML'}{_place(error)}: correct it") from None


def _json(data: bytes) -> object:
    # An upper bound for the number of values. msgspec bounds the depth.
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) * _VALUE_SIZE > _SIZE:
        raise Unparsable("holds too many values: split it")
    return msgspec.json.decode(data)


def _yaml(data: bytes) -> list[object]:
    if sum(1 for _ in _DIRECTIVE.finditer(data)) > _DIRECTIVES:
        raise Unparsable("holds too many %TAG directives: correct it")
    bounds = _Bounds()
    for event in yaml.parse(data, Loader=yaml.CSafeLoader):
        bounds.take(event)
    return list(yaml.load_all(data, Loader=_ManifestLoader))


class _Bounds:
    """Checks the size and depth of a file's documents, event by event, with every alias written out."""

    __slots__ = ("_open", "_size", "_sizes")

    def __init__(self) -> None:
        self._size = 0
        self._sizes: dict[str, int] = {}
        self._open: list[tuple[str | None, int]] = []

    def take(self, event: yaml.Event) -> None:
        """Counts one event. Raises `Unparsable` if a bound is exceeded."""
        match event:
            case yaml.ScalarEvent():
                self._add(_VALUE_SIZE + len(event.value), event)
                self._name(event.anchor, _VALUE_SIZE + len(event.value))
            case yaml.AliasEvent():
                self._add(self._named(event), event)
            case yaml.CollectionStartEvent():
                self._begin(event)
            case yaml.CollectionEndEvent():
                anchor, before = self._open.pop()
                self._name(anchor, self._size - before)
            case yaml.DocumentStartEvent():
                self._sizes.clear()

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        self._open.append((event.anchor, self._size))
        self._add(_VALUE_SIZE, event)
        if len(self._open) > _DEPTH:
            raise Unparsable(f"is nested more than {_DEPTH} levels deep{_place(event)}: correct it")

    def _add(self, size: int, event: yaml.Event) -> None:
        self._size += size
        if self._size > _SIZE:
            raise Unparsable(f"holds too many values, counted with its aliases written out{_place(event)}: split it")

    def _name(self, anchor: str | None, size: int) -> None:
        if anchor is not None:
            self._sizes[anchor] = size

    def _named(self, event: yaml.AliasEvent) -> int:
        # An anchor that is still open would be a value that contains itself, which no object of Kubernetes can.
        if event.anchor not in self._sizes:
            raise Unparsable(f"has an alias without an anchor before it{_place(event)}: correct it")
        return self._sizes[event.anchor]


def _place(source: yaml.Event | Exception) -> str:
    mark = getattr(source, "problem_mark" if isinstance(source, Exception) else "start_mark", None)
    return f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""


class _ManifestLoader(yaml.CSafeLoader):
    """Reads YAML as Kubernetes does: a timestamp is text, and so is a scalar that is too long for a number."""

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: tuple[bool, bool] | bool | None) -> str:
        """The tag of a value without a tag. A value too long for a number is text before any pattern is tried."""
        if value is not None and len(value) > _NUMBER_CHARACTERS:
            return _TEXT
        tag: str = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        return tag

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping of a node. Raises `ConstructorError` for keys whose hashes could be made to collide."""
        # Merge keys first, because they add keys of other mappings.
        self.flatten_mapping(node)
        if sum(key.tag in {_INTEGER, _FLOAT} for key, _ in node.value) > _NUMBER_KEYS:
            raise yaml.constructor.ConstructorError(None, None, "too many numbers as keys", node.start_mark)
        return super().construct_mapping(node, deep)


def _integer(loader: _ManifestLoader, node: yaml.ScalarNode) -> object:
    return node.value if len(node.value) > _NUMBER_CHARACTERS else loader.construct_yaml_int(node)


def _float(loader: _ManifestLoader, node: yaml.ScalarNode) -> object:
    return node.value if len(node.value) > _NUMBER_CHARACTERS else loader.construct_yaml_float(node)


_ManifestLoader.add_constructor(_INTEGER, _integer)
_ManifestLoader.add_constructor(_FLOAT, _float)
# A new table, because all loaders share the inherited one.
_ManifestLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}

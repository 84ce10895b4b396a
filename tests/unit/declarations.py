"""Reads what `.pxd` files declare about classes, for the tests of typed modules. It understands their plain form."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from tests.unit.sources import ROOT, SOURCES

TYPED = {name: path.with_suffix(".pxd") for name, path in SOURCES.items() if path.with_suffix(".pxd").exists()}
"""The modules that have types, and where those are."""

BUILT_IN = {
    "bint",
    "bytearray",
    "bytes",
    "dict",
    "double",
    "double[::1]",
    "frozenset",
    "int",
    "list",
    "long",
    "object",
    "Py_ssize_t",
}
BUILT_IN |= {"long long", "set", "str", "tuple", "unsigned long long"}
"""Types of attributes that are no classes of the project."""

_CLASS = re.compile(r"cdef class (\w+)(?:\((\w+)\))?:")
_ATTRIBUTES = re.compile(r"    cdef (?:public |readonly )?([\w ]*\w(?:\[::1\])?) (\w+(?:, \w+)*)")
_ELSEWHERE = re.compile(
    r"(?:from [\w.]+ )?cimport .*|    cp?def .*\(.*|    pass|cpdef .*|cdef [\w, ()]+\(.*\).*|cdef \w+ \w+| *@.*|#.*|"
)


@dataclass(slots=True)
class Declared:
    """One class: its base class, and its attributes with their types."""

    base: str | None
    attributes: dict[str, str] = field(default_factory=dict)


@cache
def declared(module: str) -> dict[str, Declared]:
    """The classes that the types of `module` declare, by name. A line in no known form is an `AssertionError`."""
    classes: dict[str, Declared] = {}
    current: Declared | None = None
    for number, line in enumerate(TYPED[module].read_text(encoding="utf-8").splitlines(), start=1):
        if (found := _CLASS.fullmatch(line)) is not None:
            current = classes[found[1]] = Declared(found[2])
        elif current is not None and (found := _ATTRIBUTES.fullmatch(line)) is not None:
            current.attributes |= dict.fromkeys(found[2].split(", "), found[1])
        else:
            where = f"{TYPED[module].relative_to(ROOT)}:{number}"
            assert _ELSEWHERE.fullmatch(line), f"{where}: not a form that tests understand: {line}"
    return classes


@cache
def attributes_with_classes() -> frozenset[str]:
    """The names of all attributes, in any module, that hold an object of a declared class."""
    every = (each for module in TYPED for each in declared(module).values())
    return frozenset(name for each in every for name, kind in each.attributes.items() if kind not in BUILT_IN)

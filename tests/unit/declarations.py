"""Reads what `.pxd` files declare about classes, for the tests of typed modules. It understands their plain form."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from tests.unit.sources import ROOT, module_name

_WITH_TYPES = {module_name(path): path for path in sorted((ROOT / "balancer").rglob("*.pxd"))}
LAYOUTS = {name: path for name, path in _WITH_TYPES.items() if path.stem == "layouts"}
"""The modules whose types say how structs lie in memory, and where these types are. They are not compiled."""
_NATIVE = {name for name, path in _WITH_TYPES.items() if path.with_suffix(".pyx").exists()}
TYPED = {
    name: path
    for name, path in _WITH_TYPES.items()
    if name not in LAYOUTS and name not in _NATIVE and path.stem != "calls"
}
"""The modules of Python that are compiled, and where their types are."""

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
_NUMBERS = {"bint", "double", "double[::1]", "int", "long", "Py_ssize_t", "long long", "unsigned long long"}

_CLASS = re.compile(r"cdef class (\w+)(?:\((\w+)\))?:")
_ATTRIBUTES = re.compile(r"    cdef (?:public |readonly )?([\w ]*\w(?:\[::1\])?) (\w+(?:, \w+)*)")
_ELSEWHERE = re.compile(
    r"(?:from [\w.]+ )?cimport .*|    cp?def .*\(.*|    pass|cpdef .*|cdef [\w, ()]+\(.*\).*|cdef \w+ \w+| *@.*|#.*|"
)
_HIDDEN = re.compile(r"    cdef [\w ]*?(\w+)\(.*")
_SIGNATURE = re.compile(r" *cp?def [\w ]*?(\w+)\(.*")


@dataclass(slots=True)
class Declared:
    """One class: its base class, its attributes with their types, and its hidden methods."""

    base: str | None
    attributes: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)  # methods that only compiled code sees


@cache
def declared(module: str) -> dict[str, Declared]:
    """The classes that the types of `module` declare, by name. A line in no known form is an `AssertionError`."""
    classes: dict[str, Declared] = {}
    current: Declared | None = None
    for number, line in enumerate(_WITH_TYPES[module].read_text(encoding="utf-8").splitlines(), start=1):
        if (found := _CLASS.fullmatch(line)) is not None:
            current = classes[found[1]] = Declared(found[2])
        elif current is not None and (found := _ATTRIBUTES.fullmatch(line)) is not None:
            current.attributes |= dict.fromkeys(found[2].split(", "), found[1])
        else:
            where = f"{_WITH_TYPES[module].relative_to(ROOT)}:{number}"
            assert _ELSEWHERE.fullmatch(line), f"{where}: not a form that tests understand: {line}"
            if current is not None and (method := _HIDDEN.fullmatch(line)) is not None:
                current.hidden.add(method[1])
    return classes


@cache
def attributes_with_classes() -> frozenset[str]:
    """The names of all attributes, in any module, that hold an object of a declared class."""
    every = (each for module in TYPED for each in declared(module).values())
    return frozenset(name for each in every for name, kind in each.attributes.items() if kind not in BUILT_IN)


@cache
def typed_signatures(module: str) -> frozenset[str]:
    """The names of the functions and methods to which the types of `module` give a signature."""
    lines = TYPED[module].read_text(encoding="utf-8").splitlines()
    return frozenset(found[1] for line in lines if (found := _SIGNATURE.fullmatch(line)) is not None)


@cache
def counted_attributes() -> frozenset[str]:
    """The names of all attributes, in any module, that hold an object, whose references are counted."""
    every = (each for module in TYPED for each in declared(module).values())
    return frozenset(name for each in every for name, kind in each.attributes.items() if kind not in _NUMBERS)

"""Compares the layouts that compiled modules believe in with the structs themselves."""

from __future__ import annotations

import ctypes
import importlib

import msgspec

from tests.unit.declarations import declared


def check_layout(module: str, name: str) -> None:
    """Fails unless the struct `name` of `module` lies in memory as the types of `module` say, and never changes.

    CPython lays out the slots of a class in the order of their names, behind those of its base class.
    """
    struct, layout = getattr(importlib.import_module(module), name), declared(module)[name]
    base = struct.__base__
    assert layout.base == (None if base is msgspec.Struct else f"{base.__name__}Layout")
    values = {field: object() for field in struct.__struct_fields__}
    assert set(layout.attributes) == set(values) - set(base.__struct_fields__)
    made = struct(**values)
    pointers = (ctypes.c_void_p * len(layout.attributes)).from_address(id(made) + base.__basicsize__)
    assert list(pointers) == [id(values[field]) for field in layout.attributes]
    assert struct.__basicsize__ == base.__basicsize__ + ctypes.sizeof(pointers)
    assert msgspec.Struct.__basicsize__ == object.__basicsize__
    assert struct.__struct_config__.frozen  # so what was read stays alive as long as the struct

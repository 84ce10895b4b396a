"""Hypothesis strategies for whole routing models: every field from its type, so one that is added later is covered."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from balancer.model.publication import RoutingModel
from balancer.workers.parts import PARTS

# Short texts, because Hypothesis also draws constants of modules that happen to be loaded, and some are whole pages.
_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(0, 2**40),
    float: st.floats(0, 1e9),
    str: st.text(max_size=8),
    bytes: st.binary(max_size=8),
}


@cache
def _any(struct: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(struct)
    fields = msgspec.structs.fields(struct)
    return st.builds(struct, **{field.name: _field(field, hints[field.name]) for field in fields})


def _field(field: msgspec.structs.FieldInfo, hint: Any) -> st.SearchStrategy[Any]:
    """A field that has a default keeps it every other time: several whole models have to fit into one example."""
    if field.default is msgspec.NODEFAULT:
        return _values_of(hint)
    return st.just(field.default) | _values_of(hint)


def _values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Tuples stay short: what is in them is what is tested, and models nest deeply."""
    inner = get_args(hint)
    if get_origin(hint) is tuple and Ellipsis in inner:
        return st.lists(_values_of(inner[0]), max_size=2).map(tuple)
    if get_origin(hint) is tuple:
        return st.tuples(*map(_values_of, inner))
    if get_origin(hint) is UnionType:
        return st.one_of(*map(_values_of, inner))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _any(hint)
    return _PLAIN[hint] if hint in _PLAIN else st.from_type(hint)


def _in_order(content: RoutingModel) -> RoutingModel:
    """As a producer makes it: sorted, and each key once."""
    ordered = {
        part.name: tuple(each for _, each in sorted({part.key_of(each): each for each in found}.items()))
        for part in PARTS
        for found in (getattr(content, part.name),)
    }
    return msgspec.structs.replace(content, **ordered)


models: st.SearchStrategy[RoutingModel] = _any(RoutingModel).map(_in_order)

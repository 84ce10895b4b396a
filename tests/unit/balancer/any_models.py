"""Hypothesis strategies for whole routing models: every field from its type, so one that is added later is covered."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from balancer.model.publication import RoutingModel
from balancer.workers.parts import PARTS

_NUMBERS = {int: st.integers(0, 2**40), float: st.floats(0, 1e9)}


@cache
def _any(struct: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    return st.builds(struct, **{name: _values_of(hint) for name, hint in get_type_hints(struct).items()})


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
    return _NUMBERS[hint] if hint in _NUMBERS else st.from_type(hint)


def _in_order(content: RoutingModel) -> RoutingModel:
    """As a producer makes it: sorted, and each key once."""
    ordered = {
        part.name: tuple(each for _, each in sorted({part.key_of(each): each for each in found}.items()))
        for part in PARTS
        for found in (getattr(content, part.name),)
    }
    return msgspec.structs.replace(content, **ordered)


models: st.SearchStrategy[RoutingModel] = _any(RoutingModel).map(_in_order)

"""Hypothesis strategies for whole routing models: every field from its type, so one that is added later is covered."""

from __future__ import annotations

from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from balancer import model
from balancer.model import RoutingModel

_NUMBERS = {int: st.integers(0, 2**40), float: st.floats(0, 1e9)}


def _register(struct: type[msgspec.Struct]) -> None:
    fields = {name: _values_of(hint) for name, hint in get_type_hints(struct).items()}
    st.register_type_strategy(struct, st.builds(struct, **fields))


def _values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Tuples stay short: what is in them is what is tested, and models nest deeply."""
    inner = get_args(hint)
    if get_origin(hint) is tuple and Ellipsis in inner:
        return st.lists(st.deferred(lambda: _values_of(inner[0])), max_size=2).map(tuple)
    if get_origin(hint) is tuple:
        return st.tuples(*map(_values_of, inner))
    if get_origin(hint) is UnionType:
        return st.one_of(*map(_values_of, inner))
    return _NUMBERS[hint] if hint in _NUMBERS else st.from_type(hint)


for _type in vars(model).values():
    if isinstance(_type, type) and issubclass(_type, msgspec.Struct):
        _register(_type)


def _in_order(content: RoutingModel) -> RoutingModel:
    """As a producer makes it: sorted, and each name and key once."""
    return msgspec.structs.replace(
        content,
        hosts=tuple(host for _, host in sorted({host.name: host for host in content.hosts}.items())),
        backends=tuple(each for _, each in sorted({each.key: each for each in content.backends}.items())),
        certificates=tuple(each for _, each in sorted({each.key: each for each in content.certificates}.items())),
    )


models: st.SearchStrategy[RoutingModel] = st.from_type(RoutingModel).map(_in_order)

"""Hypothesis strategies for whole routing models: every field from its type, so one that is added later is covered."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from balancer.model.publication import RoutingModel

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
    """As a producer makes it: sorted, and each name and key once."""
    return msgspec.structs.replace(
        content,
        hosts=tuple(host for _, host in sorted({host.name: host for host in content.hosts}.items())),
        backends=tuple(each for _, each in sorted({each.key: each for each in content.backends}.items())),
        certificates=tuple(each for _, each in sorted({each.key: each for each in content.certificates}.items())),
        authorities=tuple(each for _, each in sorted({each.key: each for each in content.authorities}.items())),
        client_certificates=tuple(
            each for _, each in sorted({each.key: each for each in content.client_certificates}.items())
        ),
        logins=tuple(each for _, each in sorted({each.key: each for each in content.logins}.items())),
    )


models: st.SearchStrategy[RoutingModel] = _any(RoutingModel).map(_in_order)

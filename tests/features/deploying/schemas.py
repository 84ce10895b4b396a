"""Whether an object has only fields that Kubernetes knows, of the right kind, and every required one.

The schemas are those of the Kubernetes client, generated from the API's own description. Custom resources have none
here. Each problem is one line: where, and what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from kubernetes_asyncio.client import Configuration, models

from tests.features.deploying.rendering import Document

CUSTOM = frozenset({"gateway.networking.k8s.io/v1", "monitoring.coreos.com/v1"})
"""API versions whose kinds come from a CustomResourceDefinition."""

_UNCHECKED = Configuration()
_UNCHECKED.client_side_validation = False
_PLAIN: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "datetime": (str,),
    "date": (str,),
}


def problems(document: Document) -> list[str]:
    """What is wrong with an object of a built-in kind."""
    group, _, version = document["apiVersion"].rpartition("/")
    names = [f"{version.capitalize()}{document['kind']}", f"{_prefix(group)}{version.capitalize()}{document['kind']}"]
    model = next((found for name in names if (found := getattr(models, name, None))), None)
    if model is None:
        return [f"{document['apiVersion']} {document['kind']}: no such kind"]
    return list(_of_model(document, model, document["kind"]))


def _prefix(group: str) -> str:
    return group.split(".", maxsplit=1)[0].capitalize()


def _of_model(value: Any, model: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: not an object"
        return
    fields = {wire: model.openapi_types[name] for name, wire in model.attribute_map.items()}
    for name, inner in value.items():
        if name not in fields:
            yield f"{place}.{name}: no such field"
        else:
            yield from _of_type(inner, fields[name], f"{place}.{name}")
    yield from (f"{place}.{name}: is required" for name in _required(model) if value.get(name) is None)


def _required(model: Any) -> Iterator[str]:
    """Fields that the model's constructor refuses to leave out."""
    for name, wire in model.attribute_map.items():
        set_to: Callable[[Any, None], None] | None = getattr(model, name).fset
        if set_to is None:
            continue
        try:
            set_to(_empty(model), None)
        except ValueError:
            yield wire


def _empty(model: Any) -> Any:
    made = model(local_vars_configuration=_UNCHECKED)
    made.local_vars_configuration = Configuration()
    return made


def _of_type(value: Any, kind: str, place: str) -> Iterator[str]:
    if kind in _PLAIN:
        is_right = isinstance(value, _PLAIN[kind]) and (kind == "bool" or not isinstance(value, bool))
        if not is_right:
            yield f"{place}: {value!r} is not {kind}"
    elif found := re.fullmatch(r"list\[(.+)\]", kind):
        yield from _of_list(value, found[1], place)
    elif found := re.fullmatch(r"dict\(str, (.+)\)", kind):
        yield from _of_dict(value, found[1], place)
    elif kind != "object":
        yield from _of_model(value, getattr(models, kind), place)


def _of_list(value: Any, kind: str, place: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{place}: not a list"
        return
    for number, inner in enumerate(value):
        yield from _of_type(inner, kind, f"{place}[{number}]")


def _of_dict(value: Any, kind: str, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: not a mapping"
        return
    for name, inner in value.items():
        yield from _of_type(inner, kind, f"{place}.{name}")

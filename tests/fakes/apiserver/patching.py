"""The patch formats of the API: merge patch, JSON patch and strategic merge patch.

Responsible for making a new document of an old one and a patch, without changing either. It must not know what the
documents mean, except for the lists that a strategic merge patch merges by a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fakes.apiserver.kinds import Document
from tests.fakes.apiserver.statuses import RefusedError, bad_request, failure

MERGE_KEYS: Mapping[str, str] = {
    "ports": "port",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "volumes": "name",
    "ownerReferences": "uid",
    "taints": "key",
}
"""Lists of objects that are merged, by the `patchMergeKey` of their field; all others are replaced."""

_CONTAINER_PORTS = "containerPort"
_DIRECTIVES = ("$setElementOrder/", "$retainKeys", "$deleteFromPrimitiveList/", "$patch")


def merged(document: Any, patch: Any) -> Any:
    """RFC 7396: objects are merged, null removes, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def strategically_merged(document: Any, patch: Any, field: str = "") -> Any:
    """A merge patch whose lists of `MERGE_KEYS` are merged, with the directives that kubectl writes."""
    if isinstance(patch, list):
        return _merged_list(document if isinstance(document, list) else [], patch, field)
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) and patch.get("$patch") != "replace" else {}
    for name in (patch.get("$retainKeys") and [*result]) or ():
        if name not in patch["$retainKeys"]:
            del result[name]
    for name, value in patch.items():
        _merge_field(result, name, value)
    return result


def _merge_field(result: Document, name: str, value: Any) -> None:
    if name.startswith("$deleteFromPrimitiveList/"):
        target = name.partition("/")[2]
        result[target] = [item for item in result.get(target, []) if item not in value]
    elif name.startswith(_DIRECTIVES):
        return
    elif value is None:
        result.pop(name, None)
    else:
        result[name] = strategically_merged(result.get(name), value, name)


def _merged_list(items: list[Any], patch: list[Any], field: str) -> list[Any]:
    objects = [item for item in patch if isinstance(item, dict)]
    key = MERGE_KEYS.get(field, "")
    if field == "ports" and any(_CONTAINER_PORTS in item for item in objects):
        key = _CONTAINER_PORTS
    if not key or len(objects) < len(patch) or {"$patch": "replace"} in patch:
        return [item for item in patch if item != {"$patch": "replace"}]
    result = list(items)
    for item in objects:
        place = next((index for index, old in enumerate(result) if old.get(key) == item.get(key)), None)
        if item.get("$patch") == "delete":
            result[:] = [old for old in result if old.get(key) != item.get(key)]
        elif place is None:
            result.append(strategically_merged({}, item))
        else:
            result[place] = strategically_merged(result[place], item)
    return result


def json_patched(document: Document, operations: Any) -> Document:
    """RFC 6902. Raises `RefusedError` with 422 where an operation does not apply."""
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    box: Document = {"": _copied(document)}
    for operation in operations:
        try:
            _apply(box, operation)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError):
            problem = "the server rejected our request due to an error in our request"
            raise RefusedError(failure(422, problem, details={})) from None
    result: Document = box[""]
    return result


def _apply(box: Document, operation: Mapping[str, Any]) -> None:
    kind, path = operation["op"], _steps(operation["path"])
    match kind:
        case "add":
            _put(box, path, operation["value"], inserts=True)
        case "replace":
            _at(box, path)
            _put(box, path, operation["value"], inserts=False)
        case "remove":
            _take(box, path)
        case "test":
            if _at(box, path) != operation["value"]:
                raise ValueError
        case "move":
            _put(box, path, _take(box, _steps(operation["from"])), inserts=True)
        case "copy":
            _put(box, path, _copied(_at(box, _steps(operation["from"]))), inserts=True)
        case _:
            raise ValueError


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")]


def _at(place: Any, steps: list[str]) -> Any:
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    return place


def _put(box: Document, steps: list[str], value: Any, *, inserts: bool) -> None:
    place, last = _at(box, steps[:-1]), steps[-1]
    if not isinstance(place, list):
        place[last] = value
    elif last == "-":
        place.append(value)
    elif inserts:
        place.insert(int(last), value)
    else:
        place[int(last)] = value


def _take(box: Document, steps: list[str]) -> Any:
    place, last = _at(box, steps[:-1]), steps[-1]
    return place.pop(int(last) if isinstance(place, list) else last)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value

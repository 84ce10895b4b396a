"""Judges statuses, as `/debug/gateway` shows them, by what a case expects. It plays nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.features.gateway.cases import Json
from tests.features.gateway.documents import Cluster

_CONTROLLER = "zonal-ingress.io/controller"


def status_problems(expected: Sequence[Json], statuses: Sequence[Json], cluster: Cluster) -> list[str]:
    """What is not as `expected`; empty if everything is. `statuses` are those of every object."""
    known = {_name(each): each["status"] for each in statuses}
    problems = [
        f"{each['of']}: {text}" for each in expected for text in _problems(each, known.get(each["of"]), cluster)
    ]
    named: dict[str, list[Json]] = {}
    for each in expected:
        if "parents" in each or "ancestors" in each:
            named.setdefault(each["of"], []).append(each)
    for of, entries in named.items():
        if any(each.get("only") for each in entries):
            problems += _others(of, entries, known.get(of) or {})
    return problems


def invariant_problems(statuses: Sequence[Json], cluster: Cluster) -> list[str]:
    """What must hold in every case: conditions say the generation that they judge, and each type occurs once."""
    problems = []
    for each in statuses:
        for listed in _condition_lists(each["status"]):
            found = [one for one in listed if "/" not in one["type"]]  # others say what they like
            types = [one["type"] for one in found]
            if len(types) != len(set(types)):
                problems.append(f"{_name(each)}: a type occurs twice in {types}")
            wrong = [one for one in found if one["observedGeneration"] != cluster.generation(_name(each))]
            problems += [f"{_name(each)}: {one['type']} says generation {one['observedGeneration']}" for one in wrong]
    return problems


def _name(item: Json) -> str:
    return (
        f"{item['kind']} {item['namespace']}/{item['name']}" if item["namespace"] else f"{item['kind']} {item['name']}"
    )


def _condition_lists(status: Json) -> Iterable[Sequence[Json]]:
    yield status.get("conditions", ())
    for name in ("listeners", "parents", "ancestors"):
        for each in status.get(name, ()):
            yield each["conditions"]


def _problems(expected: Json, status: Json | None, cluster: Cluster) -> list[str]:
    if expected["of"].startswith("Service "):
        return []  # no object of Gateway API
    if status is None:
        empty = not expected.get("parents", True) or not expected.get("ancestors", True)
        pending = expected.get("conditions") == {"Accepted": ["Unknown", "Pending"]}
        return [] if empty or pending else ["no status"]
    problems = _conditions(expected.get("conditions", {}), status.get("conditions", ()))
    for name, wanted in expected.get("listeners", {}).items():
        found = next((each for each in status["listeners"] if each["name"] == name), None)
        problems += [f"listener {name}: {text}" for text in _listener(wanted, found)]
    for kind, reference in (("parents", "parentRef"), ("ancestors", "ancestorRef")):
        for wanted in expected.get(kind, ()):
            found = _entry(status, kind, reference, wanted["parent" if kind == "parents" else "ancestor"])
            if found is None:
                problems.append(f"no entry for {wanted}")
            else:
                problems += _conditions(wanted["conditions"], found["conditions"])
                absent = set(expected.get("conditions_absent", ())) & {each["type"] for each in found["conditions"]}
                problems += [f"condition {each} is there" for each in sorted(absent)]
    if "listeners_exactly" in expected and expected["listeners_exactly"] != [
        each["name"] for each in status["listeners"]
    ]:
        problems.append(f"other listeners than {expected['listeners_exactly']}")
    names = [each["name"] for each in status.get("supportedFeatures", ())]
    if not _as_told(expected.get("features", {}), names):
        problems.append(f"supportedFeatures {names}, not {expected['features']}")
    told = " ".join(each["message"] for listed in _condition_lists(status) for each in listed)
    problems += [f"a message says {each}: {told}" for each in expected.get("messages_lack", ()) if each in told]
    attached = status.get("attachedListenerSets", 0)
    if expected.get("attachedListenerSets", attached) != attached:
        problems.append(f"attachedListenerSets {attached}")
    return problems


def _as_told(wanted: Json, names: Sequence[str]) -> bool:
    contains, lacks = set(wanted.get("contains", ())), set(wanted.get("lacks", ()))
    is_sorted = not wanted.get("sorted") or list(names) == sorted(names)
    return is_sorted and contains <= set(names) and not lacks & set(names)


def _listener(wanted: Json, found: Json | None) -> list[str]:
    if found is None:
        return ["is missing"]
    problems = _conditions(wanted.get("conditions", {}), found["conditions"])
    kinds = [each["kind"] for each in found["supportedKinds"]]
    if "attachedRoutes" in wanted and found["attachedRoutes"] != wanted["attachedRoutes"]:
        problems.append(f"attachedRoutes {found['attachedRoutes']}, not {wanted['attachedRoutes']}")
    if not set(wanted.get("supportedKinds", ())) <= set(kinds):
        problems.append(f"supportedKinds {kinds}, not {wanted['supportedKinds']}")
    if "supportedKindsExactly" in wanted and kinds != wanted["supportedKindsExactly"]:
        problems.append(f"supportedKinds {kinds}, not {wanted['supportedKindsExactly']}")
    return problems


def _conditions(wanted: Json, found: Sequence[Json]) -> list[str]:
    problems = []
    known = {each["type"]: each for each in found}
    for name, expected in wanted.items():
        have = known.get(name)
        if expected is None:
            problems += [f"condition {name} is there"] if have is not None else []
        elif have is None:
            problems += [] if (name, expected[0]) == ("Conflicted", "False") else [f"condition {name} is missing"]
        elif have["status"] != expected[0] or expected[1] not in {None, have["reason"]}:
            problems.append(f"{name} is {have['status']}/{have['reason']} ({have['message']}), not {expected}")
    return problems


def _entry(status: Json, kind: str, reference: str, wanted: Json) -> Any:
    asked = {"section": "sectionName", "sectionName": "sectionName"}
    named = {asked.get(key, key): value for key, value in wanted.items()}
    for each in status.get(kind, ()):
        found = each[reference]
        same = all(found.get(key) == value for key, value in named.items())
        whole = all((name in found) == (name in named) for name in ("sectionName", "port"))
        if same and whole and each["controllerName"] == _CONTROLLER:
            return each
    return None


def _others(of: str, entries: Sequence[Json], status: Json) -> list[str]:
    kind = "parents" if any("parents" in each for each in entries) else "ancestors"
    wanted = sum(len(each.get(kind, ())) for each in entries)
    found = len(status.get(kind, ()))
    return [] if found == wanted else [f"{of}: {found} entries, not {wanted}"]

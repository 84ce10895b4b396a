"""Objects that nobody would write never raise: whatever a folder or a newer API brings is served or told."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from balancer.matching.routing import compiling
from balancer.runtime.steps import finished
from ingress.objects.converting import ObjectError, decode
from ingress.objects.kinds import KubernetesObject
from ingress.settings.context import TranslationContext
from ingress.translation.assembly import Memories, Translation, translate
from tests.features.gateway.cases import Case, Json, all_cases
from tests.unit.ingress.cluster import inventory, service
from tests.unit.ingress.translation.gateway.objects import gateway_class

ODD: tuple[Any, ...] = (
    None,
    "",
    "x" * 300,
    "*",
    "*.*.test",
    "/%zz",
    "/%ff",
    "/a/../b",
    "(?P<",
    "\\Q/a",
    f"/{'a' * 251}",
    "/(a|b)*c",
    "RegularExpression",
    "a\r\nb: c",
    "caf\u00e9",
    "\u0000",
    0,
    -1,
    2**31 - 1,
    10**12,
    True,
    [],
    {},
    [None],
    [{}],
    {"x": {}},
)
CONTEXT = TranslationContext(gateway_ports=tuple((port, str(port)) for port in (80, 443, 8080, 8443)))
SEEDS = 12


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a document that holds a value, as its container and key."""
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def mutated(document: Json, random_: random.Random) -> Json:
    changed = copy.deepcopy(document)
    for _ in range(random_.randint(1, 3)):
        container, key = random_.choice(list(places(changed["spec"])) or [(changed, "spec")])
        container[key] = copy.deepcopy(random_.choice(ODD))
        if not isinstance(changed["spec"], (dict, list)):
            break
    return changed


def objects_of(case: Case, random_: random.Random) -> list[KubernetesObject]:
    found: list[KubernetesObject] = [gateway_class()]
    for name in case.backends:
        namespace, _, service_name = name.partition("/")
        found.append(service(service_name, namespace=namespace))
    for each in case.manifests:
        document = mutated(each, random_) if isinstance(each.get("spec"), dict) and random_.random() < 0.7 else each
        try:
            item = decode(document)
        except ObjectError:
            continue
        if item is not None:
            found.append(item)
    return found


def compiled(made: Translation) -> None:
    """What a worker does with the model at its swap."""
    finished(compiling(made.model, {}))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_mutant_raises_and_what_is_made_of_it_does_not_depend_on_memories(seed: int) -> None:
    random_ = random.Random(seed)
    memories = Memories()
    cases = random_.sample([case for case in all_cases() if case.manifests], 25)
    for case in cases:
        known = inventory(*objects_of(case, random_))
        made = translate(known, CONTEXT, memories=memories)
        assert made.standings == translate(known, CONTEXT).standings
        compiled(made)

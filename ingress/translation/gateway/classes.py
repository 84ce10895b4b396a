"""Which GatewayClasses and Gateways are ours, and whether their parameters can be used."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from ingress.objects.gateway import Gateway, GatewayClass
from ingress.objects.gateway_references import ObjectReference
from ingress.sources.inventory import Inventory
from ingress.translation.gateway.features import Needed, supported_features
from ingress.translation.gateway.standings import (
    Feature,
    GatewayClassStatus,
    ObjectStanding,
    Problem,
    StatusCondition,
    condition,
    standing_of,
)

_KNOWN_BUNDLE: Final = re.compile(r"v1\.[0-6]\.")
"""The versions of the definitions whose fields zonal reads."""


def our_classes(inventory: Inventory, controller: str) -> dict[str, GatewayClass]:
    """The classes of our controller, by name."""
    found = (each for each in inventory.of(GatewayClass) if each.spec.controller_name == controller)
    return {each.metadata.name: each for each in found}


def class_standing(item: GatewayClass, inventory: Inventory, present: Collection[Needed] = ()) -> ObjectStanding:
    """The standing of one of our classes. `present` is what features may need."""
    reference = item.spec.parameters_ref
    problem = parameters_problem(reference, reference.namespace if reference else "", inventory)
    accepted = condition("Accepted", problem, item.metadata.generation, said="The class is served by zonal.")
    conditions = (accepted, *_supported_version(inventory.provisioned.bundles, item.metadata.generation))
    features = tuple(map(Feature, supported_features(present)))
    return standing_of(item, GatewayClassStatus(conditions, features))


def _supported_version(bundles: tuple[str, ...], generation: int) -> tuple[StatusCondition, ...]:
    """Whether we know this version of the definitions; nothing if it could not be read. Unknown ones are tried."""
    if not bundles:
        return ()
    unknown = [each for each in bundles if not _KNOWN_BUNDLE.match(each)]
    problem = None
    if unknown:
        message = (
            f"The definitions of Gateway API have the version {unknown[0]!r}, which zonal does not know; it tries."
        )
        problem = Problem("UnsupportedVersion", message)
    return (condition("SupportedVersion", problem, generation, said="This version of Gateway API is known."),)


def needed_parameters(gateway: Gateway, item: GatewayClass) -> tuple[tuple[str, str], ...]:
    """The ConfigMaps that a Gateway and its class name as parameters."""
    named = (
        (gateway.spec.infrastructure.parameters_ref, gateway.metadata.namespace),
        (item.spec.parameters_ref, item.spec.parameters_ref.namespace if item.spec.parameters_ref else ""),
    )
    return tuple((namespace, each.name) for each, namespace in named if each is not None and _is_config_map(each))


def parameters_problem(reference: ObjectReference | None, namespace: str, inventory: Inventory) -> Problem | None:
    """Why the object with parameters in `namespace` cannot be used; None if it can, or if none is named."""
    if reference is None:
        return None
    if not _is_config_map(reference):
        message = f"parametersRef names a {reference.kind} of the group {reference.group!r}: name a ConfigMap."
        return Problem("InvalidParameters", message)
    if inventory.config_map(namespace, reference.name) is None:
        message = f"The ConfigMap {namespace}/{reference.name} of parametersRef does not exist: create it."
        return Problem("InvalidParameters", message)
    return None


def _is_config_map(reference: ObjectReference) -> bool:
    return (reference.group, reference.kind) == ("", "ConfigMap")

"""Resolves ExtensionRef filters of rules: hooks of the operator, by name. What cannot be resolved closes its rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from balancer.model.hooks import HookRule
from ingress.objects.gateway_routes import GrpcRule, HttpRule
from ingress.settings.hooks import RegisteredHook
from ingress.settings.table.hooks import HOOK_PREFIX
from ingress.settings.table.option import OWN_PREFIX
from ingress.translation.gateway.standings import Problem
from ingress.translation.hooks import HookProblem, hook_rules

GROUP: Final = OWN_PREFIX.removesuffix("/")
"""The group of extensions that zonal knows."""

KIND: Final = "Hook"
"""The kind of an extension that names a hook of the operator. There are no objects of the kind in the cluster."""


class Extensions(msgspec.Struct, frozen=True):
    """What the ExtensionRef filters of a route ask for: hooks by the number of their rule, and problems likewise."""

    hooks: Mapping[int, tuple[HookRule, ...]] = {}
    problems: Mapping[int, Problem] = {}


def read_extensions(
    rules: Iterable[HttpRule | GrpcRule], annotations: Mapping[str, str], registered: Sequence[RegisteredHook]
) -> Extensions:
    """Resolves the filters of `rules`. The settings of a hook stand in the annotations of the route, as for an Ingress.

    The reason of a problem is that of the condition ResolvedRefs: InvalidKind (Gateway API) for a kind that zonal does
    not know, and InvalidFilter for a hook that is not registered or does not take the settings.
    """
    settings = {
        name.removeprefix(HOOK_PREFIX): text for name, text in annotations.items() if name.startswith(HOOK_PREFIX)
    }
    hooks: dict[int, tuple[HookRule, ...]] = {}
    problems: dict[int, Problem] = {}
    for number, rule in enumerate(rules):
        found = _named(rule)
        if isinstance(found, Problem):
            problems[number] = found
        elif found:
            try:
                hooks[number] = hook_rules(found, settings, registered)
            except HookProblem as problem:
                problems[number] = Problem("InvalidFilter", str(problem))
    return Extensions(hooks, problems)


def _named(rule: HttpRule | GrpcRule) -> tuple[str, ...] | Problem:
    """The names of the hooks that a rule asks, each once, in order."""
    names: dict[str, None] = {}
    for each in rule.filters:
        if each.type != "ExtensionRef":
            continue
        reference = each.extension_ref
        if reference is None:
            return Problem("InvalidFilter", "A filter ExtensionRef names nothing: correct or remove it.")
        if (reference.group, reference.kind) != (GROUP, KIND):
            said = f"{reference.kind!r} of the group {reference.group!r}"
            return Problem("InvalidKind", f"A filter ExtensionRef names a {said}: name a {KIND} of the group {GROUP}.")
        names[reference.name] = None
    return tuple(names)

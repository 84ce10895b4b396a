"""Resolves ExtensionRef filters of rules: hooks of the operator, by name. What cannot be resolved closes its rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from balancer.model.hooks import HookRule
from ingress.objects.gateway_routes import GrpcRule, HttpRule, RouteBackend, RouteFilter
from ingress.settings.hooks import RegisteredHook
from ingress.settings.table.hooks import HOOK_PREFIX
from ingress.settings.table.option import OWN_PREFIX
from ingress.translation.gateway.standings import Problem
from ingress.translation.hooks import HookProblem, hook_rules

GROUP: Final = OWN_PREFIX.removesuffix("/")
"""The group of extensions that zonal knows."""

KIND: Final = "Hook"
"""The kind of an extension that names a hook of the operator. There are no objects of the kind in the cluster."""


_Place = TypeVar("_Place", int, tuple[int, int])

BackendPlace = tuple[int, int]
"""The number of a rule, and that of a backend in it."""


class Extensions(msgspec.Struct, frozen=True):
    """What the ExtensionRef filters of a route ask for: hooks by the number of their rule, and problems likewise.

    `backend_hooks` and `backend_problems` are those of filters in `backendRefs`.
    """

    hooks: Mapping[int, tuple[HookRule, ...]] = {}
    problems: Mapping[int, Problem] = {}
    backend_hooks: Mapping[BackendPlace, tuple[HookRule, ...]] = {}
    backend_problems: Mapping[BackendPlace, Problem] = {}


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
    backend_hooks: dict[BackendPlace, tuple[HookRule, ...]] = {}
    backend_problems: dict[BackendPlace, Problem] = {}
    for number, rule in enumerate(rules):
        _sort(number, _resolved(rule.filters, settings, registered), hooks, problems)
        backends: tuple[RouteBackend, ...] = rule.backend_refs
        for place, backend in enumerate(backends):
            _sort((number, place), _resolved(backend.filters, settings, registered), backend_hooks, backend_problems)
    return Extensions(hooks, problems, backend_hooks, backend_problems)


def _sort(
    place: _Place,
    found: tuple[HookRule, ...] | Problem,
    hooks: dict[_Place, tuple[HookRule, ...]],
    problems: dict[_Place, Problem],
) -> None:
    if isinstance(found, Problem):
        problems[place] = found
    elif found:
        hooks[place] = found


def _resolved(
    filters: tuple[RouteFilter, ...], settings: Mapping[str, str], registered: Sequence[RegisteredHook]
) -> tuple[HookRule, ...] | Problem:
    """The hooks that filters ask for; or why they cannot be asked."""
    named = _named(filters)
    if isinstance(named, Problem) or not named:
        return named if isinstance(named, Problem) else ()
    try:
        return hook_rules(named, settings, registered)
    except HookProblem as problem:
        return Problem("InvalidFilter", str(problem))


def _named(filters: Iterable[RouteFilter]) -> tuple[str, ...] | Problem:
    """The names of the hooks that filters ask, each once, in order."""
    names: dict[str, None] = {}
    for each in filters:
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

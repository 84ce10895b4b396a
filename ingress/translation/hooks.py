"""Decides which hooks a route asks, and whether their settings fit. Knows no input language, and runs no hook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import fastjsonschema
import msgspec

from balancer.model.hooks import HookRule
from ingress.findings import quote
from ingress.settings.hooks import RegisteredHook

SETTINGS_CHARACTERS_MOST: Final = 16 * 1024

UNKNOWN: Final = "HookUnknown"
"""The reason of a finding about a hook that is not registered."""

UNFITTING: Final = "HookSettingsInvalid"
"""The reason of a finding about settings that do not fit."""


class HookProblem(Exception):
    """A hook cannot be asked as a route wants. `reason` is that of the finding."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def hook_rules(
    names: Iterable[str], settings: Mapping[str, str], registered: Sequence[RegisteredHook]
) -> tuple[HookRule, ...]:
    """The rules that ask the hooks of these names, in order. `settings` are JSON texts by name.

    Raises `HookProblem` for a name that is not registered, and for settings that do not fit.
    """
    known = {hook.name: hook for hook in registered}
    return tuple(_rule(name, settings.get(name, ""), known) for name in names)


def _rule(name: str, settings: str, known: Mapping[str, RegisteredHook]) -> HookRule:
    hook = known.get(name)
    if hook is None:
        there = f"there are {', '.join(sorted(known))}" if known else "there is none"
        raise HookProblem(UNKNOWN, f"Hook {quote(name)} is not registered ({there}): correct the name or remove it.")
    if problem := _problem(hook, settings):
        raise HookProblem(UNFITTING, f"The settings of hook {name} do not fit, because {problem}: correct them.")
    return HookRule(name, hook.code.digest, hook.phases, settings, hook.code.isolated)


def _problem(hook: RegisteredHook, settings: str) -> str | None:
    """Why settings do not fit a hook, as a clause; None if they do."""
    if not hook.schema:
        return "it takes none, so remove the annotation" if settings else None
    if len(settings) > SETTINGS_CHARACTERS_MOST:
        return f"they have more than {SETTINGS_CHARACTERS_MOST} characters"
    try:
        value = msgspec.json.decode(settings or "{}")
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return "they are no JSON"
    try:
        _judge_of(hook.schema)(value)
    except fastjsonschema.JsonSchemaException as error:
        return quote(str(error).replace("data.", "", 1).replace("data ", "settings ", 1))
    except RecursionError:
        return "they are too deep"
    return None


@lru_cache(maxsize=256)
def _judge_of(schema: str) -> Any:
    """What judges a value by a schema, which comes from a hook of the operator."""
    return fastjsonschema.compile(msgspec.json.decode(schema), use_default=False, use_formats=False)

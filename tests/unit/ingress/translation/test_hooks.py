"""Which hooks a route asks, and whether their settings fit."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from balancer.model.hooks import HookCode, HookPhase, HookRule
from ingress.settings.hooks import RegisteredHook
from ingress.translation.hooks import UNFITTING, UNKNOWN, HookProblem, hook_rules
from zonal_hooks.loading import Function, Hook
from zonal_hooks.manifests import manifest_of


class Rule(msgspec.Struct):
    path: str
    weight: Annotated[int, msgspec.Meta(ge=0, le=100)] = 10


class Settings(msgspec.Struct):
    tenants: list[str]
    mode: Literal["strict", "lax"] = "strict"
    rules: tuple[Rule, ...] = ()
    extra: dict[str, float] | None = None


PHASES = (HookPhase("request", 0.02),)


def registered(settings: type[msgspec.Struct] | None = Settings) -> RegisteredHook:
    functions: dict[str, Function] = {}
    return RegisteredHook(
        HookCode("tenant", "d1"), PHASES, manifest_of(Hook("tenant", "d1", functions, settings)).schema
    )


def test_a_rule_names_the_code_that_is_asked() -> None:
    text = '{"tenants": ["a"], "rules": [{"path": "/"}], "extra": {"x": 1}}'
    assert hook_rules(["tenant"], {"tenant": text}, [registered()]) == (HookRule("tenant", "d1", PHASES, text),)
    assert hook_rules([], {}, [registered()]) == ()
    assert hook_rules(["tenant"], {}, [registered(None)]) == (HookRule("tenant", "d1", PHASES),)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ("", "must contain.*tenants"),
        ("{", "no JSON"),
        ("[" * 5000, "no JSON"),
        ("[]", "must be object"),
        ('{"tenants": "a"}', "must be array"),
        ('{"tenants": [7]}', "must be string"),
        ('{"tenants": [], "mode": "off"}', "must be one of"),
        ('{"tenants": [], "rules": [{"path": "/", "weight": 101}]}', "smaller than or equal to 100"),
        ('{"tenants": [], "tennants": []}', "tennants"),
        ('{"tenants": [], "rules": [{"path": "/", "wait": 1}]}', "wait"),
        ('{"tenants": ["' + "a" * 20_000 + '"]}', "more than 16384 characters"),
    ],
)
def test_settings_that_do_not_fit_are_a_problem(settings: str, why: str) -> None:
    with pytest.raises(HookProblem, match=why) as told:
        hook_rules(["tenant"], {"tenant": settings}, [registered()])
    assert told.value.reason == UNFITTING
    with pytest.raises(Exception):  # noqa: B017 -- the Struct itself agrees
        decoded: Any = msgspec.json.decode(settings or "{}", type=Settings)
        if len(settings) > 16384 or "tennants" in settings or "wait" in settings:
            raise ValueError(decoded)


def test_a_hook_without_settings_takes_none() -> None:
    with pytest.raises(HookProblem, match="takes none"):
        hook_rules(["tenant"], {"tenant": "{}"}, [registered(None)])


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(HookProblem, match="there are tenant") as told:
        hook_rules(["stamp"], {}, [registered()])
    assert told.value.reason == UNKNOWN
    with pytest.raises(HookProblem, match="there is none"):
        hook_rules(["stamp"], {}, [])

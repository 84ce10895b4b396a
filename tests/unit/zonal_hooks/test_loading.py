"""How a hook is made of the text of its file."""

from __future__ import annotations

import sys

import pytest

from zonal_hooks.loading import NotAHook, digest_of, forget, load_module, load_text, name_of_file

TENANT = """
from __future__ import annotations
import msgspec
from zonal_hooks import Deny, Request, hook

class Settings(msgspec.Struct):
    tenants: list[str]
    limit: int = 3

@hook(timeout="5ms")
async def request(request: Request, settings: Settings):
    if request.headers.get("x-tenant") not in settings.tenants:
        return Deny(403)
"""
PLAIN = "from zonal_hooks import hook\n@hook\ndef request(request):\n    pass\n"


def test_a_file_is_a_hook_with_its_settings() -> None:
    loaded = load_text("tenant", TENANT, "tenant.py")
    assert list(loaded.functions) == ["request"]
    assert loaded.functions["request"].declared.timeout == 0.005
    assert loaded.digest == digest_of(TENANT)
    assert getattr(loaded.settings('{"tenants": ["a"]}'), "tenants", None) == ["a"]


@pytest.mark.parametrize("text", ["", "{}", '{"tenants": 7}', "[]", "{", '{"tenants": [7]}'])
def test_settings_that_do_not_fit_are_refused(text: str) -> None:
    with pytest.raises(NotAHook, match="the settings do not fit hook tenant"):
        load_text("tenant", TENANT).settings(text)


@pytest.mark.parametrize(
    "text", ['{"pattern": "("}', '{"pattern": "a", "any": ' + "[" * 5000 + "]" * 5000 + "}"], ids=["check", "depth"]
)
def test_settings_whose_check_raises_anything_do_not_fit(text: str) -> None:
    hook = load_text(
        "checks",
        "import re\nfrom typing import Any\nimport msgspec\nfrom zonal_hooks import hook\n"
        "class Settings(msgspec.Struct):\n    pattern: str\n    any: Any = None\n"
        "    def __post_init__(self): re.compile(self.pattern)\n"
        "@hook\ndef request(request, settings: Settings): pass\n",
    )
    with pytest.raises(NotAHook, match="do not fit"):
        hook.settings(text)


def test_a_hook_without_settings_takes_none() -> None:
    loaded = load_text("plain", PLAIN)
    assert loaded.settings("") is None
    with pytest.raises(NotAHook, match="takes no settings"):
        loaded.settings("{}")


@pytest.mark.parametrize(
    ("path", "name"), [("tenant.py", "tenant"), ("/etc/hooks/ab_test.py", "ab-test"), ("a1.py", "a1")]
)
def test_a_file_gives_its_hook_its_name(path: str, name: str) -> None:
    assert name_of_file(path) == name


@pytest.mark.parametrize("path", ["Tenant.py", "a.b.py", "-a.py", f"{'a' * 41}.py", ".py", "ä.py"])
def test_a_file_whose_name_cannot_be_selected_is_refused(path: str) -> None:
    with pytest.raises(NotAHook, match="is no name of a hook"):
        name_of_file(path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no function called request, pick, response is marked"),
        ("def request(r): pass", "no function called"),
        ("x = (", "line 1: SyntaxError"),
        ("\n\n1/0", "line 3: ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import no_such_module_anywhere", "ModuleNotFoundError"),
        ("from zonal_hooks import hook\n@hook\ndef request(a, b, c): pass", "takes a message and"),
        ("from zonal_hooks import hook\n@hook\ndef request(a, b): pass", "are a msgspec.Struct"),
        ("from zonal_hooks import hook\n@hook\ndef request(a, b: int): pass", "are a msgspec.Struct"),
        ("def f(): f()\nf()", "RecursionError"),
        (
            "from zonal_hooks import hook\n@hook(isolated=True)\ndef request(a): pass\n@hook\ndef response(a): pass",
            "either all functions",
        ),
        (
            "import msgspec\nfrom zonal_hooks import hook\n"
            "class A(msgspec.Struct): pass\nclass B(msgspec.Struct): pass\n"
            "@hook\ndef request(a, b: A): pass\n@hook\ndef response(a, b: B): pass",
            "different types",
        ),
    ],
)
def test_what_is_no_hook_is_told_in_one_line(text: str, why: str) -> None:
    with pytest.raises(NotAHook, match=why) as told:
        load_text("x", text, "x.py")
    assert "\n" not in str(told.value)
    assert str(told.value).startswith("x.py")


def test_a_file_that_fails_leaves_no_module_behind() -> None:
    before = set(sys.modules)
    with pytest.raises(NotAHook):
        load_text("x", "1/0")
    assert set(sys.modules) == before


def test_a_hook_that_is_forgotten_leaves_no_module_behind() -> None:
    before = set(sys.modules)
    loaded = load_text("gone", PLAIN)
    assert set(sys.modules) > before
    forget(loaded)
    assert set(sys.modules) == before


def test_two_texts_of_a_hook_live_side_by_side() -> None:
    first = load_text("plain", PLAIN)
    second = load_text("plain", PLAIN + "\n")
    assert first.digest != second.digest
    assert first.functions["request"].call is not second.functions["request"].call


def test_an_installed_module_is_a_hook() -> None:
    loaded = load_module("stamp", "tests.unit.zonal_hooks.installed_hook")
    assert list(loaded.functions) == ["response"]
    with pytest.raises(NotAHook, match="ModuleNotFoundError"):
        load_module("stamp", "no_such_module_anywhere")


def test_only_a_coroutine_without_anything_to_await_answers_at_once() -> None:
    text = (
        "import asyncio\nfrom zonal_hooks import hook\n@hook\nasync def request(r): pass\n"
        "@hook\nasync def pick(r): await asyncio.sleep(0)\n@hook\ndef response(r): pass\n"
    )
    functions = load_text("x", text).functions
    assert [name for name, each in functions.items() if each.answers_at_once] == ["request"]

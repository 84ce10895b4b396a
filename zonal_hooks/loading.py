"""Makes a hook of the text of its file, or of an installed module."""

from __future__ import annotations

import dis
import hashlib
import importlib
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, Final

import msgspec

from zonal_hooks.declaring import MARK, PHASES, Declared

NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,38}[a-z0-9])?")
"""The name of a hook, which is a part of the name of an annotation."""

_AWAITING: Final = frozenset(("GET_AWAITABLE", "GET_AITER", "BEFORE_ASYNC_WITH", "SEND"))


class NotAHook(Exception):
    """A file or module that is no hook. The message is one line."""


class Function:
    """One function of the hook called `hook`. `answers_at_once`: its coroutines have nothing to await."""

    __slots__ = ("answers_at_once", "call", "declared", "hook", "takes_settings")

    def __init__(self, hook: str, call: Callable[..., Any], declared: Declared, *, takes_settings: bool) -> None:
        self.hook = hook
        self.call = call
        self.declared = declared
        self.answers_at_once = inspect.iscoroutinefunction(call) and not any(
            each.opname in _AWAITING for each in dis.get_instructions(call)
        )
        self.takes_settings = takes_settings


class Hook:
    """A hook that is loaded. `functions` are by phase; `settings_type` None: it takes no settings.

    `takes_body`: a function of it asks for the bodies of requests.
    """

    __slots__ = ("digest", "functions", "is_isolated", "name", "settings_type", "takes_body")

    def __init__(
        self, name: str, digest: str, functions: Mapping[str, Function], settings_type: type[msgspec.Struct] | None
    ) -> None:
        self.name = name
        self.digest = digest
        self.functions = functions
        self.settings_type = settings_type
        self.is_isolated = any(each.declared.isolated for each in functions.values())
        self.takes_body = any(each.declared.body for each in functions.values())

    def settings(self, text: str) -> msgspec.Struct | None:
        """The settings in a JSON text; empty is `{}`. Raises `NotAHook` if they do not fit.

        Tenants write the text, and `__post_init__` of the settings may raise anything for it. A deep text raises
        RecursionError.
        """
        if self.settings_type is None:
            if text:
                raise NotAHook(f"hook {self.name} takes no settings")
            return None
        try:
            return msgspec.json.decode(text or "{}", type=self.settings_type)
        except Exception as error:
            raise NotAHook(f"the settings do not fit hook {self.name}: {error}") from None


def name_of_file(path: str) -> str:
    """The name of the hook in a file: `ab_test.py` is `ab-test`. Raises `NotAHook`."""
    return checked_hook_name(PurePath(path).stem.replace("_", "-"))


def checked_hook_name(name: str) -> str:
    """`name` if a hook may have it. Raises `NotAHook`."""
    if not NAME.fullmatch(name):
        raise NotAHook(f"{name!r} is no name of a hook: use at most 40 letters, digits and hyphens, in lower case")
    return name


def digest_of(text: str) -> str:
    """What tells one text of a hook from another."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_text(name: str, text: str, path: str = "hook.py") -> Hook:
    """The hook in the text of a file. Raises `NotAHook`, also for whatever the file raises while it is read."""
    digest = digest_of(text)
    module = types.ModuleType(f"zonal_hooks_of_files.{name.replace('-', '_')}_{digest}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # where msgspec looks up the types of a Struct
    try:
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
        return _hook_in(module, name, digest)
    except BaseException as error:
        sys.modules.pop(module.__name__, None)
        raise _told(path, error) from error


def load_module(name: str, module_name: str) -> Hook:
    """The hook in an installed module. Raises `NotAHook`."""
    try:
        return _hook_in(importlib.import_module(module_name), name, module_name)
    except BaseException as error:
        raise _told(module_name, error) from error


def forget(hook: Hook) -> None:
    """Lets the module of a file go, when another text has taken its place."""
    sys.modules.pop(f"zonal_hooks_of_files.{hook.name.replace('-', '_')}_{hook.digest}", None)


def _told(path: str, error: BaseException) -> NotAHook:
    if isinstance(error, NotAHook):
        return NotAHook(f"{path}: {error}")
    line = f", line {error.lineno}" if isinstance(error, SyntaxError) else _line_told(path, error)
    text = (error.msg if isinstance(error, SyntaxError) else str(error)).splitlines() or [""]
    return NotAHook(f"{path}{line}: {type(error).__name__}: {text[0][:200]}")


def _line_told(path: str, error: BaseException) -> str:
    lines = [each.tb_lineno for each in _frames(error) if each.tb_frame.f_code.co_filename == path]
    return f", line {lines[-1]}" if lines else ""


def _frames(error: BaseException) -> typing.Iterator[types.TracebackType]:
    at = error.__traceback__
    while at is not None:
        yield at
        at = at.tb_next


def _hook_in(module: types.ModuleType, name: str, digest: str) -> Hook:
    named = {phase: getattr(module, phase, None) for phase in PHASES}
    marked = {phase: found for phase, found in named.items() if found is not None and hasattr(found, MARK)}
    if not marked:
        raise NotAHook(f"no function called {', '.join(PHASES)} is marked with @hook")
    types_of = {phase: _settings_type(found, module) for phase, found in marked.items()}
    known = {each for each in types_of.values() if each is not None}
    if len(known) > 1:
        raise NotAHook("its functions take settings of different types")
    functions = {
        phase: Function(name, found, getattr(found, MARK), takes_settings=types_of[phase] is not None)
        for phase, found in marked.items()
    }
    if len({each.declared.isolated for each in functions.values()}) > 1:
        raise NotAHook("either all functions of a hook are isolated, or none is")
    return Hook(name, digest, functions, next(iter(known), None))


def _settings_type(function: Callable[..., Any], module: types.ModuleType) -> type[msgspec.Struct] | None:
    """The Struct that is the second parameter of a function; None if it has one parameter."""
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) == 1:
        return None
    if len(parameters) != 2:
        raise NotAHook(f"{function.__name__} takes a message and, if it has any, its settings")
    hints = typing.get_type_hints(function, module.__dict__)
    found = hints.get(parameters[1].name)
    if not (isinstance(found, type) and issubclass(found, msgspec.Struct)):
        raise NotAHook(f"the settings of {function.__name__} are a msgspec.Struct: say so in its signature")
    return found

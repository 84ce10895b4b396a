"""The decorator that makes a function a hook, and what it says about the function."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple, TypeVar, overload

PHASES: Final = ("request", "pick", "response")
"""When a function is called: before the endpoint is chosen, when it is, and when the response comes."""

MARK: Final = "__zonal_hook__"
TIMEOUT_SECONDS_MOST: Final = 30.0
_DURATION: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(ms|s)")

OnError = Literal["deny", "pass"]
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Declared(NamedTuple):
    """What `@hook` says of one function. `timeout` in seconds; `body`: it gets bodies of up to 64 KiB."""

    timeout: float
    on_error: OnError
    isolated: bool
    body: bool


@overload
def hook(function: _Function, /) -> _Function: ...
@overload
def hook(
    *, timeout: str = ..., on_error: OnError = ..., isolated: bool = ..., body: bool = ...
) -> Callable[[_Function], _Function]: ...
def hook(
    function: Callable[..., Any] | None = None,
    /,
    *,
    timeout: str = "20ms",
    on_error: OnError = "deny",
    isolated: bool = False,
    body: bool = False,
) -> Any:
    """Makes a function called `request`, `response` or `pick` a hook.

    `timeout` is a text such as `20ms` or `1.5s`. `on_error` says what becomes of a request whose hook fails: `deny`
    answers 503, `pass` lets it go on without the edits of this hook. `isolated`: the file runs in a process of its own.
    `body`: the request is received first, and refused with 413 if it has more than 64 KiB.
    """
    declared = Declared(_seconds(timeout), _checked(on_error), bool(isolated), bool(body))

    def mark(marked: _Function) -> _Function:
        name = getattr(marked, "__name__", "")
        if name not in PHASES:
            raise TypeError(f"a hook is a function called {', '.join(PHASES)}, not {name!r}")
        if declared.body and name == "response":
            raise TypeError("response hooks get no bodies")
        setattr(marked, MARK, declared)
        return marked

    return mark if function is None else mark(function)


def _seconds(text: str) -> float:
    found = _DURATION.fullmatch(text) if isinstance(text, str) else None
    seconds = 0.0 if found is None else float(found[1]) / (1000 if found[2] == "ms" else 1)
    if not 0.001 <= seconds <= TIMEOUT_SECONDS_MOST:
        raise ValueError(f"timeout is a text such as 20ms or 1.5s, from 1ms to {TIMEOUT_SECONDS_MOST:g}s")
    return seconds


def _checked(on_error: str) -> OnError:
    if on_error == "deny":
        return "deny"
    if on_error == "pass":
        return "pass"
    raise ValueError("on_error is deny or pass")

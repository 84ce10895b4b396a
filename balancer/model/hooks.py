"""Hooks in the model: the code of the operator, and what a route asks of it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from balancer.model.secrecy import SECRET


class HookPhase(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One function of a hook: `request`, `pick` or `response`.

    `passes_on_error`: a failing call lets the message go on. `takes_body`: the body of the request is received before.
    """

    name: str
    timeout_seconds: float
    passes_on_error: bool = False
    takes_body: bool = False


class HookRule(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="hook"):
    """Asks a hook about requests and responses of a route. `name` and `digest` are those of a `HookCode` in the model.

    `settings` is JSON; empty: the hook has its defaults or takes none. `isolated`: it runs in a process of its own.
    """

    name: str
    digest: str
    phases: tuple[HookPhase, ...]
    settings: str = ""
    isolated: bool = False


class HookCode(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The code of one hook: the `text` of the file at `path`, or an installed `module`. `digest` tells texts apart."""

    key: str
    digest: str
    path: str = ""
    text: Annotated[str, SECRET] = ""
    module: str = ""
    isolated: bool = False

"""Hooks for zonal: Python of the operator that judges or changes each request of a route.

A hook is one file with functions called `request`, `response` or `pick`, each marked with `@hook`. This package knows
nothing of the proxy, so a hook is written, typed and tested without one.
"""

from __future__ import annotations

from zonal_hooks.answers import Deny, Reply
from zonal_hooks.declaring import hook
from zonal_hooks.headers import Headers
from zonal_hooks.messages import Request, Response

__all__ = ["Deny", "Headers", "Reply", "Request", "Response", "hook"]

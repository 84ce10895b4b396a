"""Stamps every response, also those of the proxy itself, with fields of the operator.

zonal-ingress.io/hooks: "stamp"
zonal-ingress.io/hook-stamp: '{"set": {"x-frame-options": "DENY"}, "remove": ["server"]}'
"""

from __future__ import annotations

import msgspec

from zonal_hooks import Response, hook


class Settings(msgspec.Struct):
    set: dict[str, str] = {}
    remove: list[str] = []


@hook(on_error="pass")
def response(response: Response, settings: Settings) -> None:
    for name in settings.remove:
        response.remove_header(name)
    for name, value in settings.set.items():
        response.set_header(name, value)

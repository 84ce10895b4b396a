"""A hook that the tests of this folder try."""

from __future__ import annotations

import msgspec

from zonal_hooks import Deny, Request, Response, hook


class Settings(msgspec.Struct):
    tenants: list[str]


@hook
async def request(request: Request, settings: Settings) -> Deny | None:
    if request.headers.get("x-tenant") not in settings.tenants:
        return Deny(403)
    request.set_header("x-tier", "gold")
    return None


@hook
def pick(request: Request, settings: Settings) -> None:
    request.set_canary(request.headers.get("x-tier") == "gold")


@hook(on_error="pass")
def response(response: Response, settings: Settings) -> None:
    if response.status >= 500:
        raise ValueError("sick")
    response.remove_header("server")

"""Sends a share of the clients to the canary of the route: a hash of their cookie decides, so each stays where it is.

zonal-ingress.io/hooks: "ab-test"
zonal-ingress.io/hook-ab-test: '{"percent": 10, "cookie": "uid"}'
"""

from __future__ import annotations

import hashlib
from http.cookies import CookieError, SimpleCookie
from typing import Annotated

import msgspec

from zonal_hooks import Request, hook


class Settings(msgspec.Struct):
    percent: Annotated[int, msgspec.Meta(ge=0, le=100)]
    cookie: str = "uid"
    salt: str = ""


@hook(on_error="pass")
def pick(request: Request, settings: Settings) -> None:
    try:
        cookies = SimpleCookie(request.headers.get("cookie", ""))
    except CookieError:
        cookies = SimpleCookie()
    client = cookies[settings.cookie].value if settings.cookie in cookies else request.client
    digest = hashlib.sha256(f"{settings.salt}/{client}".encode()).digest()
    request.set_canary(int.from_bytes(digest[:4]) % 100 < settings.percent)

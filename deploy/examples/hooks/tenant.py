"""Lets in who names a tenant of the route, and tells the endpoint which tier the tenant has.

zonal-ingress.io/hooks: "tenant"
zonal-ingress.io/hook-tenant: '{"tiers": {"acme": "gold", "initech": "tin"}}'
"""

from __future__ import annotations

import msgspec

from zonal_hooks import Deny, Request, hook


class Settings(msgspec.Struct):
    tiers: dict[str, str]
    header: str = "x-tenant"


@hook
def request(request: Request, settings: Settings) -> Deny | None:
    tier = settings.tiers.get(request.headers.get(settings.header, ""))
    request.set_header("x-tenant-tier", tier or "none")
    return None if tier else Deny(403)

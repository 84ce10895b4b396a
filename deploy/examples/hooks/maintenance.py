"""Answers 503 with a page during a window, but for the networks of the people who work on it.

zonal-ingress.io/hooks: "maintenance"
zonal-ingress.io/hook-maintenance: '{"begin": "2026-12-01T22:00:00Z", "end": "2026-12-02T02:00:00Z",
  "let_in": ["10.0.0.0/8"]}'
"""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_address, ip_network

import msgspec

from zonal_hooks import Reply, Request, hook


class Settings(msgspec.Struct):
    begin: datetime
    end: datetime
    let_in: list[str] = []
    page: str = "We are back soon."


@hook
def request(request: Request, settings: Settings) -> Reply | None:
    now = datetime.now(UTC)
    if not settings.begin <= now < settings.end:
        return None
    if any(ip_address(request.client) in ip_network(each) for each in settings.let_in):
        return None
    seconds = int((settings.end - now).total_seconds()) + 1
    return Reply(503, {"Retry-After": str(seconds), "Content-Type": "text/plain; charset=utf-8"}, settings.page)

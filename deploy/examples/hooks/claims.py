"""Checks a bearer token (JWT) and gives its claims to the endpoint as header fields. Needs PyJWT beside zonal.

zonal-ingress.io/hooks: "claims"
zonal-ingress.io/hook-claims: '{"key": "-----BEGIN PUBLIC KEY-----…", "algorithms": ["RS256"], "audience": "shop",
  "headers": {"sub": "x-user", "email": "x-email"}}'
"""

from __future__ import annotations

import jwt
import msgspec

from zonal_hooks import Reply, Request, hook


class Settings(msgspec.Struct):
    key: str
    algorithms: list[str]
    audience: str
    headers: dict[str, str]


@hook
def request(request: Request, settings: Settings) -> Reply | None:
    for header in settings.headers.values():
        request.remove_header(header)  # only a token may say these
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return Reply(401, {"WWW-Authenticate": "Bearer"})
    try:
        claims = jwt.decode(token, settings.key, algorithms=settings.algorithms, audience=settings.audience)
    except jwt.PyJWTError:
        return Reply(401, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
    for claim, header in settings.headers.items():
        if claim in claims:
            request.set_header(header, str(claims[claim]))
    return None

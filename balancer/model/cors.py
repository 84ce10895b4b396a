"""CORS in the model as Gateway API has it: which pages of other origins may ask for what."""

from __future__ import annotations

import msgspec


class CorsPolicy(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="cors_policy"):
    """Tells browsers which pages of other origins may read the responses (gateway.networking.k8s.io/v1 HTTPCORSFilter).

    An origin is `https://shop.test:8080`, `https://*.shop.test` with one or more labels in place of the star,
    `https://*` for every host of a scheme, or `*` for everybody. In `methods` and `headers`, `*` alone is every one.
    `exposed` are names of fields that pages may read. `allows_cookies`: also requests with credentials.
    """

    origins: tuple[str, ...]
    methods: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    allows_cookies: bool = False
    max_age_seconds: int = 5


class CorsPolicyPreflight(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="cors_policy_preflight"):
    """Answers the preflights of a policy: OPTIONS requests that name an origin and a method."""

    policy: CorsPolicy

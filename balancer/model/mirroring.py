"""Mirroring in the model: copies of the requests of a route, whose answers are not waited for."""

from __future__ import annotations

from typing import Final

import msgspec

from balancer.model.endpoints import BackendKey


class Mirroring(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where copies of requests go (ingress-nginx: mirror-target and its kin).

    `target` is a URL with variables behind its authority. Without a variable it gets the query of the request, and
    without a path the whole target. `host` is the value of Host. `with_body`: the copy has the body of the request.
    `allow_local`: the target may have any address. `tenant` is the namespace that asks for
    copies.
    """

    target: str
    host: str
    with_body: bool = True
    allow_local: bool = False
    tenant: str = ""


MIRRORS_MOST: Final = 4
"""No more backends get copies of the requests of one route."""


class BackendMirror(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Another backend that gets copies of requests, of `numerator` in `denominator` of them.

    `tenant` is the namespace that asks for copies.
    """

    backend: BackendKey
    tenant: str
    numerator: int = 100
    denominator: int = 100

"""Mirroring in the model: copies of the requests of a route, whose answers are not waited for."""

from __future__ import annotations

import msgspec


class Mirroring(msgspec.Struct, frozen=True):
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

"""Requests at their gates, for tests of external auth."""

from __future__ import annotations

import msgspec

from balancer.http.messages import Fields
from balancer.http.origin import Origin
from balancer.matching.gates.verdicts import Asked
from balancer.model.entry_points import HTTP, HTTPS
from tests.messages import request_head


def asked(
    target: bytes = b"/",
    *,
    host: bytes = b"shop.test",
    fields: Fields = (),
    method: bytes = b"GET",
    peer: str = "192.0.2.1",
    secure: bool = False,
    port: int | None = None,
) -> Asked:
    """A request for `target` of `host`."""
    request = msgspec.structs.replace(
        request_head(method, fields=fields),
        authority=host,
        host_name=host.partition(b":")[0].lower(),
        path=target.partition(b"?")[0],
        target=target,
        raw_target=target,
    )
    return Asked(request, Origin(peer=peer, entry_point=HTTPS if secure else HTTP, port=port), secure)

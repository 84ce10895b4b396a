"""What gates are asked."""

from __future__ import annotations

from balancer.http.origin import Origin
from balancer.matching.gates.verdicts import Asked
from balancer.model.entry_points import HTTP
from tests.messages import request_head


def test_the_name_that_the_client_used_may_be_known_from_a_trusted_proxy() -> None:
    origin = Origin(peer="192.0.2.7", entry_point=HTTP)
    asked = Asked(request_head(), origin, secure=False)
    assert asked.host_name == b"a"
    origin.host = b"Shop.test:8443"
    assert asked.host_name == b"shop.test"

"""What endpoints are told about the origin of requests."""

from __future__ import annotations

import pytest

from balancer.http.origin import Origin, origin_of
from balancer.model.entry_points import HTTP, HTTPS


@pytest.mark.parametrize(
    ("secure", "port", "https"), [(True, None, True), (False, None, False), (False, 443, True), (False, 8080, False)]
)
def test_port_443_of_a_proxy_header_means_that_a_load_balancer_ended_tls(
    secure: bool, port: int | None, https: bool
) -> None:
    assert Origin(peer="192.0.2.1", entry_point=HTTPS if secure else HTTP, port=port).https is https


def test_connections_of_one_peer_share_their_origin_unless_something_differs() -> None:
    first = origin_of("192.0.2.1", HTTP, None)
    assert origin_of("192.0.2.1", HTTP, None) is first
    assert (first.peer, first.https, first.port, first.proof) == ("192.0.2.1", False, None, None)
    for other in (("192.0.2.2", HTTP, None), ("192.0.2.1", HTTPS, None), ("192.0.2.1", HTTP, 8080)):
        assert origin_of(*other) is not first

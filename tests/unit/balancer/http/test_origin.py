"""What endpoints are told about the origin of requests."""

from __future__ import annotations

import pytest

from balancer.http.origin import Origin


@pytest.mark.parametrize(
    ("secure", "port", "https"), [(True, None, True), (False, None, False), (False, 443, True), (False, 8080, False)]
)
def test_port_443_of_a_proxy_header_means_that_a_load_balancer_ended_tls(
    secure: bool, port: int | None, https: bool
) -> None:
    assert Origin(peer="192.0.2.1", secure=secure, port=port).https is https

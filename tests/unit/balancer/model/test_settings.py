"""Settings of the whole data plane: what is made of them for one listener."""

from __future__ import annotations

import pytest

from balancer.model.settings import ListenerTls


@pytest.mark.parametrize(
    ("oldest", "asked", "found"),
    [
        ("TLSv1_2", "TLSv1_3", "TLSv1_3"),
        ("TLSv1_3", "TLSv1_2", "TLSv1_3"),
        ("TLSv1_2", "", "TLSv1_2"),
        ("TLSv1", "TLSv1_2", "TLSv1_2"),
    ],
)
def test_a_listener_may_demand_a_newer_version_and_never_an_older_one(oldest: str, asked: str, found: str) -> None:
    tls = ListenerTls(oldest=oldest, ciphers="AES")
    assert tls.at_least(asked).oldest == found
    assert tls.at_least(asked).ciphers == "AES"

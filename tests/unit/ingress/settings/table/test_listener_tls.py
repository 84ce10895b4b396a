"""Values about the TLS of clients."""

from __future__ import annotations

import pytest

from balancer.model.settings import ListenerTls
from ingress.settings.table.listener_tls import CIPHERS, listener_tls, versions
from ingress.settings.values import InvalidValue
from tests.unit.ingress.said import said


@pytest.mark.parametrize(
    ("text", "oldest", "newest"),
    [
        ("TLSv1.2 TLSv1.3", "TLSv1_2", "TLSv1_3"),
        ("TLSv1.3 TLSv1.2", "TLSv1_2", "TLSv1_3"),
        ("TLSv1.3", "TLSv1_3", "TLSv1_3"),
        (" TLSv1.2 ", "TLSv1_2", "TLSv1_2"),
        ("TLSv1 TLSv1.1 TLSv1.2", "TLSv1_2", "TLSv1_2"),
    ],
)
def test_versions_are_a_range_that_forbidden_ones_are_left_out_of(text: str, oldest: str, newest: str) -> None:
    assert versions(text) == (oldest, newest)


@pytest.mark.parametrize("text", ["", "TLSv1", "TLSv1.1 TLSv1", "SSLv3 TLSv1.2", "tlsv1.2", "TLSv1.2,TLSv1.3"])
def test_a_range_without_a_version_that_may_be_spoken_is_invalid(text: str) -> None:
    with pytest.raises(InvalidValue):
        versions(text)


def test_each_key_fills_its_field() -> None:
    texts = {
        "ssl-protocols": "TLSv1.3",
        "ssl-ciphers": "ECDHE-ECDSA-AES128-GCM-SHA256:!aNULL",
        "ssl-prefer-server-ciphers": "false",
        "ssl-reject-handshake": "true",
    }
    expected = ListenerTls("TLSv1_3", "TLSv1_3", "ECDHE-ECDSA-AES128-GCM-SHA256:!aNULL", False, True)
    assert listener_tls(said(texts)) == expected


@pytest.mark.parametrize("text", ["ALL:@SECLEVEL=0", "A B", "A\nB", "A" * 5000])
def test_a_list_of_ciphers_holds_no_commands_and_has_a_bound(text: str) -> None:
    assert not CIPHERS.fullmatch(text)

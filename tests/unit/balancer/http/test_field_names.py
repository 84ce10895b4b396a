"""What belongs to one connection is named once, in lower case."""

from __future__ import annotations

from balancer.http.field_names import FORWARDING, HTTPOXY, OF_ONE_CONNECTION, OF_ONE_REQUEST


def test_names_are_in_lower_case() -> None:
    assert all(name == name.lower() for name in (*OF_ONE_REQUEST, *FORWARDING, HTTPOXY))
    assert not FORWARDING & OF_ONE_REQUEST


def test_a_request_has_all_of_a_connection_and_what_names_its_recipient() -> None:
    assert {b"expect", b"host", b"http2-settings"} == OF_ONE_REQUEST - OF_ONE_CONNECTION
    assert {b"connection", b"content-length", b"transfer-encoding", b"upgrade"} <= OF_ONE_CONNECTION

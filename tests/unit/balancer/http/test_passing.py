"""Which fields pass."""

from __future__ import annotations

import pytest

from balancer.http.passing import name_onward, nominated, passes_as_trailer


@pytest.mark.parametrize(
    ("name", "underscores", "onward"),
    [
        (b"Accept", False, b"Accept"),
        (b"TE", True, b""),
        (b"x_a", False, b""),
        (b"x_a", True, b"x_a"),
        (b"x_forwarded_for", True, b""),
        (b"x.a", True, b""),
        (b"x-forwarded-for", False, b"X-Original-Forwarded-For"),
    ],
)
def test_the_name_that_an_endpoint_gets(name: bytes, underscores: bool, onward: bytes) -> None:
    assert name_onward(name, underscores=underscores) == onward


def test_connection_options_end_fields_of_one_hop_only() -> None:
    assert nominated((b"x-hop", b"cookie")) == {b"x-hop"}


def test_trailers_neither_frame_nor_route() -> None:
    assert passes_as_trailer(b"grpc-status")
    assert not passes_as_trailer(b"content-length")
    assert not passes_as_trailer(b"x-forwarded-for")


@pytest.mark.parametrize("name", [b"ssl-client-verify", b"x-original-url", b"x_real_ip", b"x.scheme"])
def test_trailers_do_not_say_what_only_we_may_say(name: bytes) -> None:
    """An endpoint that merges trailers into the head would believe a client."""
    assert not passes_as_trailer(name)

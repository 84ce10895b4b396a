"""The messages of a forwarded connection."""

from __future__ import annotations

import pytest

from ingress.cli.kubectl.channels import Channels, ForwardRefused


def test_what_comes_first_on_a_channel_is_its_port_however_it_is_cut() -> None:
    channels = Channels()
    messages = [b"\x00\x0e", b"\x01\x0e\x28", b"\x00\x28HT", b"\x00TP", b"\x00", b"\x01"]
    assert b"".join(map(channels.received, messages)) == b"HTTP"


def test_an_error_is_raised_with_its_text() -> None:
    channels = Channels()
    channels.received(b"\x01\x0e\x28")
    with pytest.raises(ForwardRefused, match="no such port"):
        channels.received(b"\x01no such port")


@pytest.mark.parametrize("message", [b"", b"\x07something"])
def test_what_is_of_no_channel_is_nothing(message: bytes) -> None:
    assert Channels().received(message) == b""


def test_bytes_go_to_the_pod_on_the_first_channel() -> None:
    assert Channels.message(b"GET") == b"\x00GET"

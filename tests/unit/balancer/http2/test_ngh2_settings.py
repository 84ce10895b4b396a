"""What connections of nghttp2 are told, and what they say first."""

from __future__ import annotations

import pytest
from ngh2 import Setting

from balancer.http2.engine import CLIENT, SERVER
from balancer.http2.events import EngineLimits
from balancer.http2.ngh2_settings import WINDOW_BYTES, configuration, settings_of


@pytest.mark.parametrize(
    ("role", "says"),
    [
        (SERVER, {Setting.MAX_CONCURRENT_STREAMS: 7, Setting.NO_RFC7540_PRIORITIES: 1}),
        (CLIENT, {Setting.ENABLE_PUSH: 0}),
    ],
)
def test_each_role_says_its_own_settings(role: bool, says: dict[int, int]) -> None:
    limits = EngineLimits(streams=7, header_list_bytes=9_000, stream_window=WINDOW_BYTES)
    assert settings_of(role, limits) == {Setting.MAX_HEADER_LIST_SIZE: 9_000, **says}


def test_a_window_is_said_only_if_it_is_not_what_everybody_assumes() -> None:
    assert settings_of(SERVER, EngineLimits(stream_window=70_000))[Setting.INITIAL_WINDOW_SIZE] == 70_000
    assert Setting.INITIAL_WINDOW_SIZE not in settings_of(SERVER, EngineLimits(stream_window=WINDOW_BYTES))


def test_equal_limits_share_a_configuration() -> None:
    assert configuration(EngineLimits(streams=3)) is configuration(EngineLimits(streams=3))
    assert configuration(EngineLimits(streams=3)) is not configuration(EngineLimits(streams=4))

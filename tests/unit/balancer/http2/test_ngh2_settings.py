"""What connections of nghttp2 are told, and what they say first."""

from __future__ import annotations

import pytest
from ngh2 import NeverIndexedHeader, Setting

from balancer.http2.engine import CLIENT, SERVER
from balancer.http2.events import EngineLimits
from balancer.http2.fields import NEVER_ALIKE
from balancer.http2.ngh2_settings import WINDOW_BYTES, configuration, marked, marked_if_any, settings_of


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


def test_fields_that_differ_each_time_are_marked_and_no_others() -> None:
    name = min(NEVER_ALIKE)
    plain, other = (b":status", b"200"), (name, b"1")
    assert marked_if_any((plain,)) == (plain,)
    assert [type(each) is NeverIndexedHeader for each in marked_if_any((plain, other))] == [False, True]
    assert marked((plain, other))[0] == plain

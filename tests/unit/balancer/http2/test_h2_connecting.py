"""What connections of hyper-h2 say first, and what they leave to the engine."""

from __future__ import annotations

import pytest
from h2.settings import SettingCodes

from balancer.http2.events import EngineLimits
from balancer.http2.frames import PREFACE
from balancer.http2.h2_connecting import connected

LIMITS = EngineLimits(streams=7, stream_window=70_000, connection_window=200_000, header_list_bytes=9_000)


@pytest.mark.parametrize("is_server", [True, False])
def test_the_limits_are_said_as_settings(is_server: bool) -> None:
    settings = connected(is_server, LIMITS).local_settings
    assert settings[SettingCodes.INITIAL_WINDOW_SIZE] == 70_000
    assert settings[SettingCodes.MAX_HEADER_LIST_SIZE] == 9_000
    if is_server:
        assert settings[SettingCodes.MAX_CONCURRENT_STREAMS] == 7
    else:
        assert settings[SettingCodes.ENABLE_PUSH] == 0


def test_a_client_says_the_preface() -> None:
    assert connected(False, LIMITS).data_to_send().startswith(PREFACE)
    assert not connected(True, LIMITS).data_to_send().startswith(PREFACE)


def test_the_window_of_the_connection_grows_to_its_limit() -> None:
    assert connected(True, LIMITS).inbound_flow_control_window == 200_000
    assert connected(True, EngineLimits(connection_window=65_535)).inbound_flow_control_window == 65_535


def test_malformed_fields_are_left_to_the_engine() -> None:
    assert not connected(True, LIMITS).config.validate_inbound_headers

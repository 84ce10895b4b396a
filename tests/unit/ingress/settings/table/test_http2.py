"""Values about HTTP/2 to clients."""

from __future__ import annotations

import pytest

from balancer.model.settings import Http2Engine, Http2Settings
from ingress.settings.table.connections import proxy_settings
from ingress.settings.table.http2 import head_bytes, unread_bytes
from ingress.settings.values import InvalidValue
from tests.unit.ingress.said import said


def test_each_key_fills_its_field() -> None:
    texts = {
        "use-http2": "false",
        "http2-cleartext": "true",
        "http2-engine": "h2",
        "http2-max-concurrent-streams": "64",
        "http2-max-header-size": "16k",
        "http2-max-header-fields": "50",
        "http2-max-resets": "10",
        "http2-max-idle-frames": "20",
        "http2-max-unread-size": "64m",
    }
    filled = Http2Settings(False, True, Http2Engine.H2, 64, 16384, 50, 10, 20, 64 * 1024 * 1024)
    assert proxy_settings(said(texts)).http2 == filled


@pytest.mark.parametrize("text", ["0", "4095", "2m", "-1", "many"])
def test_a_bound_of_heads_lets_browsers_in_and_keeps_memory(text: str) -> None:
    with pytest.raises(InvalidValue):
        head_bytes(text)


@pytest.mark.parametrize("text", ["0", "1023k", "-1", "many"])
def test_a_bound_of_unread_answers_leaves_room_for_those_that_are_read(text: str) -> None:
    with pytest.raises(InvalidValue):
        unread_bytes(text)

"""The library behind an engine."""

from __future__ import annotations

from balancer.http2.engine import CLIENT, SERVER, EngineLimits
from balancer.http2.engines import make_engine
from balancer.http2.frames import PREFACE


def test_a_client_begins_with_the_preface_and_a_server_with_its_settings() -> None:
    assert make_engine(CLIENT, EngineLimits()).take_bytes().startswith(PREFACE)
    assert make_engine(SERVER, EngineLimits()).take_bytes()[3:5] == b"\x04\x00"

"""The library behind an engine."""

from __future__ import annotations

from balancer.http2.engine import CLIENT, SERVER
from balancer.http2.engines import BINDING, H2, NGH2, make_engine
from balancer.http2.events import EngineLimits
from balancer.http2.frames import PREFACE
from balancer.http2.h2_engine import H2Engine
from balancer.http2.ngh2_engine import Ngh2Engine
from tests.unit.balancer.http2.pairs import IS_COMPILED


def test_a_client_begins_with_the_preface_and_a_server_with_its_settings() -> None:
    assert make_engine(CLIENT, EngineLimits()).take_bytes().startswith(PREFACE)
    assert make_engine(SERVER, EngineLimits()).take_bytes()[3:5] == b"\x04\x00"


def test_the_library_is_chosen_by_name() -> None:
    nghttp2 = "NativeEngine" if IS_COMPILED else "Ngh2Engine"
    assert type(make_engine(SERVER, EngineLimits())).__name__ == nghttp2
    assert type(make_engine(SERVER, EngineLimits(), NGH2)).__name__ == nghttp2
    assert isinstance(make_engine(SERVER, EngineLimits(), BINDING), Ngh2Engine)
    assert isinstance(make_engine(SERVER, EngineLimits(), H2), H2Engine)

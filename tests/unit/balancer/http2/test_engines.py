"""The library behind an engine."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from balancer.http2.engine import CLIENT, SERVER
from balancer.http2.engines import BINDING, H2, NGH2, choose, make_engine, shortfall
from balancer.http2.events import EngineLimits
from balancer.http2.frames import PREFACE
from balancer.http2.h2_engine import H2Engine
from balancer.http2.ngh2_engine import Ngh2Engine
from tests.unit.balancer.http2.pairs import IS_COMPILED

ASK = """
import ngh2, ngh2._core
{change}
from balancer.http2.engine import SERVER
from balancer.http2.engines import make_engine, shortfall
from balancer.http2.events import EngineLimits
print(type(make_engine(SERVER, EngineLimits())).__name__, shortfall())
from balancer.connections.client_making import tell_shortfall
tell_shortfall()
tell_shortfall()
"""
TOLD = "HTTP/2 takes more CPU than it has to: "


def test_a_client_begins_with_the_preface_and_a_server_with_its_settings() -> None:
    assert make_engine(CLIENT, EngineLimits()).take_bytes().startswith(PREFACE)
    assert make_engine(SERVER, EngineLimits()).take_bytes()[3:5] == b"\x04\x00"


def test_the_library_is_chosen_by_name() -> None:
    nghttp2 = "NativeEngine" if IS_COMPILED else "Ngh2Engine"
    assert type(make_engine(SERVER, EngineLimits())).__name__ == nghttp2
    assert type(make_engine(SERVER, EngineLimits(), NGH2)).__name__ == nghttp2
    assert isinstance(make_engine(SERVER, EngineLimits(), BINDING), Ngh2Engine)
    assert isinstance(make_engine(SERVER, EngineLimits(), H2), H2Engine)


def test_the_engine_that_the_build_is_made_for_lacks_nothing() -> None:
    assert shortfall() == ""


def test_an_engine_that_cannot_be_imported_is_told_with_the_next_one() -> None:
    missing = ("balancer.http2.no_engine", "NoEngine")
    assert choose([missing, ("balancer.http2.ngh2_engine", "Ngh2Engine")]) == (
        Ngh2Engine,
        "No module named 'balancer.http2.no_engine'",
    )
    assert choose([missing]).make is H2Engine
    assert choose([]) == (H2Engine, "")


@pytest.mark.skipif(not IS_COMPILED, reason="the plain source asks nghttp2 by its binding")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("ngh2.__version__ = '9.9.9'", "ngh2 is 9.9.9, and the engine was tried with "),
        ("from balancer.http2 import frames; ngh2._core.__file__ = frames.__file__", "ngh2 does not export nghttp2_"),
        ("ngh2._core.__file__ = '/nowhere'", "/nowhere of ngh2 cannot be opened"),
    ],
)
def test_a_compiled_build_says_why_it_has_the_binding(change: str, why: str) -> None:
    asked = [sys.executable, "-c", ASK.format(change=change)]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, env=os.environ.copy())
    assert said.stdout.startswith(f"Ngh2Engine {why}")
    assert said.stderr.startswith(TOLD + why)
    assert said.stderr.count(TOLD) == 1, "the log hears it once"


@pytest.mark.large
def test_a_process_without_ngh2_says_so() -> None:
    asked = [sys.executable, "-c", "import sys; sys.modules['ngh2'] = None\n" + ASK.split("{change}")[1]]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, env=os.environ.copy())
    assert said.stdout.startswith("H2Engine import of ngh2 halted")
    assert said.stderr.startswith(TOLD + "import of ngh2 halted")
    assert said.stderr.count(TOLD) == 1, "the log hears it once"

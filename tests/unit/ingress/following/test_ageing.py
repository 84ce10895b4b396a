"""Findings about what may be about to come are told when they last; all others at once."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ingress
from ingress.findings import Finding, Severity
from ingress.following.ageing import AGE_SECONDS, PASSING, Ageing

NO_ENDPOINT = Finding("Service", "shop", "cart", "NoReadyEndpoint", "None is ready.", "503.", Severity.CLOSED)
WRONG = Finding("Ingress", "shop", "web", "InvalidIngress", "It is wrong.", "503.", Severity.CLOSED)


def test_what_is_wrong_is_told_at_once_and_what_may_come_when_it_lasts() -> None:
    ageing = Ageing()
    ageing.follow([NO_ENDPOINT, WRONG], 100.0)
    assert ageing.told(100.0) == (WRONG,)
    assert ageing.wait_seconds(101.0) == AGE_SECONDS - 1.0
    assert ageing.told(100.0 + AGE_SECONDS) == (NO_ENDPOINT, WRONG)
    assert ageing.wait_seconds(100.0 + AGE_SECONDS) is None


def test_what_an_apply_brings_within_seconds_is_never_told() -> None:
    ageing = Ageing()
    ageing.follow([NO_ENDPOINT], 0.0)
    ageing.follow([], 1.0)
    assert ageing.told(60.0) == ()
    ageing.follow([NO_ENDPOINT], 60.0)
    assert ageing.told(61.0) == ()


def test_another_text_is_as_old_as_the_one_before() -> None:
    ageing = Ageing()
    ageing.follow([NO_ENDPOINT], 0.0)
    other = msgspec.structs.replace(NO_ENDPOINT, message="One of two is ready.")
    ageing.follow([other], AGE_SECONDS)
    assert ageing.told(AGE_SECONDS) == (other,)


@pytest.mark.parametrize("reason", sorted(PASSING))
def test_every_reason_is_one_that_zonal_gives(reason: str) -> None:
    sources = (path for path in Path(ingress.__path__[0]).rglob("*.py") if path.name != "ageing.py")
    given = reason.removeprefix("Api") if reason.startswith("Api") else reason
    assert any(f'"{given}"' in path.read_text(encoding="utf-8") for path in sources)


@given(st.floats(0.0, 20.0))
def test_at_every_time_a_finding_is_told_or_waited_for(now: float) -> None:
    ageing = Ageing()
    ageing.follow([NO_ENDPOINT], 0.0)
    assert bool(ageing.told(now)) == (ageing.wait_seconds(now) is None)

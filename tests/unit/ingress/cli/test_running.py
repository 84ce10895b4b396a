"""The app runs with its log set up, on the loop that was asked for or not at all."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from balancer.runtime.loops import NoEventLoop
from ingress.cli.running import run_app
from ingress.settings.options import RunOptions


@pytest.fixture(autouse=True)
def own_root_logger(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Configuring replaces the handlers of the root logger, pytest's among them."""
    level = logging.root.level
    monkeypatch.setattr(logging.root, "handlers", [])
    yield
    logging.root.setLevel(level)


def test_a_loop_that_is_not_there_is_told_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with pytest.raises(NoEventLoop):
        run_app(RunOptions(source=tmp_path, event_loop="uvloop", log_level="error"))
    assert logging.root.level == logging.ERROR

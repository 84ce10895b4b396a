"""The own log: one record a line on standard error, as text or as JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from ingress.logs import configure_logs


@pytest.fixture(autouse=True)
def own_root_logger(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Configuring replaces the handlers of the root logger, pytest's among them."""
    level = logging.root.level
    monkeypatch.setattr(logging.root, "handlers", [])
    yield
    logging.root.setLevel(level)


def test_text_says_when_how_bad_where_and_what(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format="text")
    logging.getLogger("some.place").warning("it is %s", "so")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(" WARNING some.place: it is so\n")
    assert captured.err.count("\n") == 1


def test_json_is_one_object_a_line_even_for_an_exception(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", log_format="json")
    try:
        raise ValueError("odd\nvalue")
    except ValueError:
        logging.getLogger("some.place").exception("it failed")
    (line,) = capsys.readouterr().err.splitlines()
    record = json.loads(line)
    assert (record["level"], record["logger"], record["message"]) == ("error", "some.place", "it failed")
    assert record["time"].endswith("+00:00")
    assert "ValueError: odd" in record["exception"]


@pytest.mark.parametrize(("level", "lines"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_the_level_decides_what_is_said(capsys: pytest.CaptureFixture[str], level: str, lines: int) -> None:
    configure_logs(level=level, log_format="text")
    logger = logging.getLogger("some.place")
    logger.debug("a")
    logger.info("b")
    logger.warning("c")
    logger.error("d")
    assert capsys.readouterr().err.count("\n") == lines

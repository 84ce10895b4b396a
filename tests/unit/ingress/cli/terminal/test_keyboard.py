"""Keys of a real terminal: read at once, one at a time, and the terminal is given back as it was."""

from __future__ import annotations

import os
import pty
import termios
from pathlib import Path

from ingress.cli.terminal.keyboard import Keyboard

_LONG = 60.0


def test_keys_come_one_at_a_time_without_echo_or_enter() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stream, os.fdopen(ours, "wb", buffering=0) as typist:
        before = termios.tcgetattr(stream)
        with Keyboard(stream) as keyboard:
            assert not termios.tcgetattr(stream)[3] & (termios.ICANON | termios.ECHO)
            typist.write("sj\x1b[Bé".encode())
            assert [keyboard.key(_LONG) for _ in range(4)] == ["s", "j", "\x1b[B", "é"]
            assert keyboard.key(0.0) == ""
        assert termios.tcgetattr(stream) == before


def test_a_terminal_that_went_has_no_more_keys() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stream:
        keyboard = Keyboard(stream)
        os.close(ours)
        assert keyboard.key(_LONG) == ""


def test_what_is_no_terminal_has_no_keys(tmp_path: Path) -> None:
    place = tmp_path / "typed"
    place.write_text("q")
    with place.open() as stream, Keyboard(stream) as keyboard:
        assert keyboard.key(0.0) == ""

"""One flush a turn for each connection that has news, and none that holds up another."""

from __future__ import annotations

import asyncio

import pytest

from balancer.connections.unread import Unread
from balancer.http.current import CurrentSettings
from balancer.http2.flushing import Flushed, Flusher
from balancer.model.settings import ProxySettings


class _Connection(Flushed):
    def __init__(self, flusher: Flusher, *, fails: bool = False) -> None:
        self.is_dirty = self.is_cut = False
        self.flushes = 0
        self._flusher, self._fails = flusher, fails

    def say(self) -> None:
        if not self.is_dirty:
            self._flusher.add(self)

    def flush(self) -> None:
        self.flushes += 1
        if self._fails:
            raise RuntimeError("a mistake")

    def abort(self) -> None:
        self.is_cut = True


def _flusher() -> Flusher:
    return Flusher(asyncio.get_running_loop(), Unread(CurrentSettings(ProxySettings())))


async def _turn() -> None:
    await asyncio.sleep(0)


async def test_all_news_of_a_turn_leave_at_once() -> None:
    connection = _Connection(_flusher())
    for _ in range(3):
        connection.say()
    assert connection.flushes == 0
    await _turn()
    assert connection.flushes == 1
    connection.say()
    await _turn()
    assert connection.flushes == 2


async def test_a_mistake_cuts_its_own_connection_alone(caplog: pytest.LogCaptureFixture) -> None:
    flusher = _flusher()
    broken, whole = _Connection(flusher, fails=True), _Connection(flusher)
    broken.say()
    whole.say()
    await _turn()
    assert (broken.is_cut, whole.is_cut, whole.flushes) == (True, False, 1)
    assert "could not be flushed" in caplog.text

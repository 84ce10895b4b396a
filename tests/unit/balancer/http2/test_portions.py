"""What came at once is handed on in portions, and reading pauses meanwhile."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from balancer.http2.portions import Portions


class Paused(asyncio.Transport):
    """Notes whether it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.reads, self.is_over = True, False

    def is_closing(self) -> bool:
        return self.is_over

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


async def _turn() -> None:
    await asyncio.sleep(0)


@given(st.lists(st.binary(max_size=20_000).map(lambda some: some * 4), max_size=6))
def test_all_is_handed_on_in_order_and_little_in_a_turn(came: list[bytes]) -> None:
    asyncio.run(_all_is_handed_on(came))


async def _all_is_handed_on(came: list[bytes]) -> None:
    portions, transport, taken = Portions(), Paused(), list[bytes]()
    for data in came:
        portions.add(data, transport, taken.append)
        assert transport.reads is not bool(portions)
        await _turn()
    while portions:
        await _turn()
    assert b"".join(taken) == b"".join(came)
    assert all(len(data) <= 32 * 1024 for data in taken)
    assert transport.reads


async def test_what_is_dropped_is_not_handed_on_and_reading_goes_on() -> None:
    portions, transport, taken = Portions(), Paused(), list[bytes]()
    portions.add(bytes(100_000), transport, taken.append)
    assert portions
    portions.clear()
    await _turn()
    assert [len(data) for data in taken] == [32 * 1024]
    assert transport.reads
    portions.add(b"more", transport, taken.append)
    assert taken[-1] == b"more"


async def test_a_transport_that_closes_is_left_alone() -> None:
    portions, transport, taken = Portions(), Paused(), list[bytes]()
    transport.is_over = True
    portions.add(bytes(40_000), transport, taken.append)
    await _turn()
    assert sum(map(len, taken)) == 40_000
    assert transport.reads

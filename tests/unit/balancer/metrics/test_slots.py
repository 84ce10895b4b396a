"""A slot table loses nothing, never raises for want of room, and can be read at any moment."""

from __future__ import annotations

import ctypes
import mmap
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.metrics.slots import MINIMUM_BYTES, OVERFLOW, WIDTH_MAX, Buffer, Key, SlotTable, is_overflow, read
from tests.properties import examples

ROOM = 64 * 1024

keys = st.builds(Key, st.integers(0, 40), st.lists(st.text(max_size=8), max_size=4).map(tuple))


def counted(buffer: Buffer) -> dict[Key, tuple[float, ...]]:
    return {entry.key: entry.values for entry in read(buffer) if entry.key != OVERFLOW}


def count(table: SlotTable, key: Key, amount: float = 1.0) -> None:
    table.values[table.slot(key)] += amount


def numbered(number: int) -> Key:
    return Key(1, (f"label-{number}",))


def fill(table: SlotTable) -> int:
    """Register keys until there is no room, and say how many there was room for."""
    for number in range(100_000):
        if is_overflow(table.slot(numbered(number))):
            return number
    raise AssertionError("the table never filled up")


def test_a_new_table_reads_as_empty() -> None:
    buffer = bytearray(ROOM)
    SlotTable(buffer)
    assert counted(buffer) == {}


def test_a_buffer_without_a_table_reads_as_empty() -> None:
    assert list(read(bytearray(ROOM))) == []
    assert list(read(bytearray(3))) == []


def test_a_buffer_that_is_too_small_is_refused() -> None:
    SlotTable(bytearray(MINIMUM_BYTES))
    with pytest.raises(ValueError, match="bytes"):
        SlotTable(bytearray(MINIMUM_BYTES - 1))


def test_the_same_key_has_the_same_slot() -> None:
    table = SlotTable(bytearray(ROOM))
    first = table.slot(Key(1, ("a",)))
    assert table.slot(Key(1, ("a",))) == first
    assert table.slot(Key(2, ("a",))) != first
    assert table.slot(Key(1, ("b",))) != first


def test_wide_keys_have_slots_of_their_own() -> None:
    buffer = bytearray(ROOM)
    table = SlotTable(buffer)
    histogram, after = table.slot(Key(1, ()), 3), table.slot(Key(2, ()))
    for number in range(3):
        table.values[histogram + number] += number + 1
    table.values[after] += 9
    assert counted(buffer) == {Key(1, ()): (1, 2, 3), Key(2, ()): (9,)}


@given(st.lists(st.tuples(keys, st.integers(1, 1000))))
def test_what_is_counted_is_what_is_read(events: list[tuple[Key, int]]) -> None:
    buffer = bytearray(ROOM)
    table = SlotTable(buffer)
    expected: dict[Key, float] = {}
    for key, amount in events:
        count(table, key, amount)
        expected[key] = expected.get(key, 0) + amount
    assert counted(buffer) == {key: (amount,) for key, amount in expected.items()}


@given(st.lists(keys), st.lists(keys))
def test_a_table_is_continued_by_the_next_writer(before: Iterable[Key], after: Iterable[Key]) -> None:
    one_writer, two_writers = bytearray(ROOM), bytearray(ROOM)
    table = SlotTable(one_writer)
    for key in (*before, *after):
        count(table, key)
    for keys_of_writer in (before, after):
        table = SlotTable(two_writers)
        for key in keys_of_writer:
            count(table, key)
    assert two_writers == one_writer


@examples(50)
@given(st.data())
def test_a_writer_killed_while_registering_leaves_the_table_as_it_was(data: st.DataObject) -> None:
    buffer = bytearray(ROOM)
    table = SlotTable(buffer)
    count(table, Key(1, ("before",)), 7)
    before = bytes(buffer)
    table.slot(Key(2, ("in the middle",)))
    # Registering writes an entry and then the count: keep the old count and any number of the entry's bytes.
    changed = [at for at, octet in enumerate(before) if octet != buffer[at]]
    assert changed[0] == 8, "the count's only byte that changes"
    killed = bytearray(before)
    for at in data.draw(st.sets(st.sampled_from(changed[1:]))):
        killed[at] = buffer[at]
    assert counted(killed) == {Key(1, ("before",)): (7,)}
    continued = SlotTable(killed)
    count(continued, Key(3, ()))
    assert counted(killed) == {Key(1, ("before",)): (7,), Key(3, ()): (1,)}


@given(st.binary(min_size=16, max_size=400))
def test_a_damaged_table_never_raises(damage: bytes) -> None:
    buffer = bytearray(MINIMUM_BYTES)
    count(SlotTable(buffer), Key(1, ("x",)))
    buffer[8 : 8 + len(damage)] = damage
    list(read(buffer))
    buffer[-len(damage) :] = damage
    list(read(buffer))


def test_an_entry_that_is_no_text_ends_the_reading() -> None:
    buffer = bytearray(MINIMUM_BYTES)
    count(SlotTable(buffer), Key(1, ("Umlaut ä",)))
    buffer[:] = buffer.replace("ä".encode(), b"\xff\xfe")
    assert counted(buffer) == {}


def test_reading_stops_at_an_entry_that_claims_more_than_there_is() -> None:
    buffer = bytearray(MINIMUM_BYTES)
    table = SlotTable(buffer)
    count(table, Key(1, ()))
    table.slot(Key(2, ()), WIDTH_MAX)
    wide = bytes((0x94, 2, WIDTH_MAX, 0x90, 0xFF))  # [metric, width, no labels, NO_TENANT] in MessagePack
    assert buffer.count(wide) == 1
    at = buffer.index(wide)
    buffer[at + 2] = 0x7F
    assert counted(buffer) == {Key(1, ()): (1,)}


def test_reading_stops_at_the_end_of_the_buffer() -> None:
    assert [spare_bytes for spare_bytes in range(48) if not is_read_to_its_end(spare_bytes)] == []


def is_read_to_its_end(spare_bytes: int) -> bool:
    buffer = bytearray(MINIMUM_BYTES + spare_bytes)
    table = SlotTable(buffer)
    registered = 0
    while not is_overflow(table.slot(Key(1, (f"a label that fills the room for keys {registered:04}",)))):
        registered += 1
    buffer[8:16] = (2**63).to_bytes(8, sys.byteorder)
    return len(counted(buffer)) == registered


def test_keys_beyond_the_room_are_counted_as_refused() -> None:
    buffer = bytearray(MINIMUM_BYTES)
    table = SlotTable(buffer)
    registered = fill(table)
    assert registered > 10
    for number in range(5):
        slot = table.slot(Key(9, (f"late-{number}",)), WIDTH_MAX)
        assert is_overflow(slot)
        table.values[slot + WIDTH_MAX - 1] += 1
    refusals = next(entry.values[0] for entry in read(buffer) if entry.key == OVERFLOW)
    assert refusals == 1 + 5
    assert len(counted(buffer)) == registered


def fill_share(table: SlotTable, tenant: str) -> int:
    """Register series of `tenant` until its share is used up, and say how many there was room for."""
    for number in range(100_000):
        if is_overflow(table.slot(Key(1, (tenant, f"label-{number}")), tenant_at=0)):
            return number
    raise AssertionError("the share was never used up")


def test_a_tenant_with_many_series_leaves_room_for_those_of_others() -> None:
    buffer = bytearray(ROOM)
    table = SlotTable(buffer)
    greedy = fill_share(table, "greedy")
    assert greedy > 100
    assert fill_share(table, "modest") > greedy / 3
    count(table, Key(2, ("kind",)))
    assert counted(buffer)[Key(2, ("kind",))] == (1,)


def test_shares_outlive_the_process_that_filled_them() -> None:
    buffer = bytearray(ROOM)
    greedy = fill_share(SlotTable(buffer), "greedy")
    continued = SlotTable(buffer)
    assert is_overflow(continued.slot(Key(1, ("greedy", "one more")), tenant_at=0))
    assert fill_share(continued, "modest") > greedy / 3


def test_keys_known_before_the_table_was_full_still_count() -> None:
    buffer = bytearray(MINIMUM_BYTES)
    table = SlotTable(buffer)
    registered = fill(table)
    count(table, numbered(0), 3)
    count(table, numbered(registered - 1), 4)
    table.values[table.slot(Key(9, ("refused",)))] += 100
    values = counted(buffer)
    assert values[numbered(0)] == (3,)
    assert values[numbered(registered - 1)] == (4,)
    assert sum(sum(each) for each in values.values()) == 7


def test_another_process_may_write_what_this_one_reads(tmp_path: Path) -> None:
    file = tmp_path / "table"
    file.write_bytes(bytes(ROOM))
    subprocess.run([sys.executable, "-c", _WRITER, str(file)], check=True)
    with file.open("r+b") as opened:
        shared = mmap.mmap(opened.fileno(), 0)
    assert counted(shared) == {numbered(number): (number,) for number in range(50)}


def test_every_value_is_an_aligned_word() -> None:
    buffer = mmap.mmap(-1, ROOM)  # of whole pages
    values = SlotTable(buffer).values
    assert values.itemsize == 8
    place = ctypes.addressof(ctypes.c_char.from_buffer(values.cast("B"))) - _address(buffer)
    assert place % 8 == _address(buffer) % 8 == 0


def _address(buffer: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


@pytest.mark.large
def test_a_reader_never_sees_half_of_a_value(tmp_path: Path) -> None:
    file = tmp_path / "table"
    file.write_bytes(bytes(ROOM))
    with file.open("r+b") as opened:
        shared = mmap.mmap(opened.fileno(), 0)
    with subprocess.Popen([sys.executable, "-c", _FLICKER, str(file)]) as writer:
        try:
            seen = Counter[float]()
            deadline = time.monotonic() + 20.0
            while seen.total() < _READS or len(seen) < 2:
                assert time.monotonic() < deadline
                seen.update(value for values in counted(shared).values() for value in values if value)
        finally:
            writer.kill()
    assert {struct.pack("d", value) for value in seen} == {b"\x11" * 8, b"\x22" * 8}


_READS = 100_000
_FLICKER = """
import mmap, struct, sys
from balancer.metrics.slots import Key, SlotTable

with open(sys.argv[1], "r+b") as opened:
    table = SlotTable(mmap.mmap(opened.fileno(), 0))
first, second = struct.unpack("dd", b"\\x11" * 8 + b"\\x22" * 8)
slot = table.slot(Key(1, ()), 16)
while True:
    for number in range(slot, slot + 16):
        table.values[number] = first
    for number in range(slot, slot + 16):
        table.values[number] = second
"""

_WRITER = """
import mmap, os, sys
from balancer.metrics.slots import Key, SlotTable

with open(sys.argv[1], "r+b") as opened:
    table = SlotTable(mmap.mmap(opened.fileno(), 0))
for number in range(50):
    table.values[table.slot(Key(1, (f"label-{number}",)))] += number
os._exit(0)
"""

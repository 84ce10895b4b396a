"""Counter tables: never one for two, never one forgotten."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator

import pytest

from balancer.metrics.slots import TABLE_BYTES, Key, SlotTable, read
from balancer.workers.tables import Tables

KEY = Key(3, ("shop",))


@pytest.fixture
def tables() -> Iterator[Tables]:
    tables = Tables()
    yield tables
    tables.close()


def test_tables_in_use_are_different(tables: Tables) -> None:
    first, second = tables.take(), tables.take()
    first.memory[0:1] = b"x"
    assert first.descriptor != second.descriptor
    assert second.memory[0:1] == b"\0"
    assert tables.buffers() == [first.memory, second.memory]


def test_a_table_that_was_left_behind_is_continued(tables: Tables) -> None:
    first, second = tables.take(), tables.take()
    tables.give_back(first)
    assert tables.take() is first
    assert tables.take() not in (first, second)


def test_counts_stay_when_their_writer_has_gone(tables: Tables) -> None:
    table = tables.take()
    count(table.memory)
    tables.give_back(table)
    count(tables.take().memory)
    sums = [entry.values[0] for buffer in tables.buffers() for entry in read(buffer) if entry.key == KEY]
    assert sums == [2.0]


def test_a_table_is_empty_memory_that_only_who_is_told_inherits(tables: Tables) -> None:
    table = tables.take()
    assert os.fstat(table.descriptor).st_size == TABLE_BYTES
    assert os.fstat(table.descriptor).st_blocks == 0
    assert not os.get_inheritable(table.descriptor)
    assert list(read(table.memory)) == []


@pytest.mark.parametrize("failing", ["ftruncate", "mmap"])
def test_a_table_that_cannot_be_made_leaves_nothing_open(
    failing: str, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(os if failing == "ftruncate" else mmap, failing, fail)
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(OSError):
        tables.take()
    assert len(os.listdir("/dev/fd")) == before
    assert tables.buffers() == []


def count(memory: mmap.mmap) -> None:
    table = SlotTable(memory)
    table.values[table.slot(KEY)] += 1.0

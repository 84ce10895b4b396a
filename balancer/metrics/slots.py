"""Keeps the counters of one worker in one flat buffer that another process may read at any time.

Layout: header | float64 values | key entries, in order. The slots of an entry follow those of the entry before it. One
process writes, any number read. The entry count is written last, so a table stays readable when its writer is killed.
Every value is an aligned word, which x86-64 and 64-bit ARM write and read whole, so no reader sees half a
count. Does not know what is counted, nor whether the buffer is shared memory.

Tenants share a table fairly: series that name a tenant take room within the share of that tenant.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from balancer.runtime.shares import FairShares

if TYPE_CHECKING:
    from mmap import mmap

Buffer: TypeAlias = "bytearray | memoryview | mmap"
"""Zeroed, writable, and at least `MINIMUM_BYTES` long."""


class Key(NamedTuple):
    """What a run of slots counts: the number of the metric and the values of its labels."""

    metric: int
    labels: tuple[str, ...]


class Run(NamedTuple):
    """A key and its slots: `width` slots from `first` on."""

    key: Key
    first: int
    width: int


class Entry(NamedTuple):
    """A key and the values of its slots at the time of reading."""

    key: Key
    values: tuple[float, ...]


# Wide enough for a histogram with fourteen buckets, +Inf and the sum.
WIDTH_MAX: Final = 16

NO_TENANT: Final = -1
"""The `tenant_at` of a series that belongs to no tenant."""

# By measurement a route with endpoints in three zones and four statuses takes 90 slots and 2.2 KB of keys. So there is
# room for about 56,000 routes, 28,000 of them in one namespace. Pages of a buffer that were never touched are free.
TABLE_BYTES: Final = 160 * 1024 * 1024

OVERFLOW: Final = Key(-1, ())
"""The key of counts without room. Its first value counts the refusals; the rest has no meaning."""

# The first entry of every table is the overflow entry.
_REFUSALS_SLOT: Final = 0
_OVERFLOW_SLOT: Final = 1

# Changes with the layout, so that a reader never decodes a table of another version.
_MAGIC: Final = b"zonslot3"
_HEADER: Final = struct.Struct("=8sQ")
_COUNT: Final = struct.Struct("=Q")
_COUNT_AT: Final = 8
_LENGTH: Final = struct.Struct("=I")
_VALUE_BYTES: Final = 8
# Measured with names of 12 to 16 letters: keys take 3 times the bytes of their slots.
_BYTES_PER_SLOT: Final = _VALUE_BYTES + 24
MINIMUM_BYTES: Final = _HEADER.size + _BYTES_PER_SLOT * 64

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(tuple[int, int, tuple[str, ...], int]).decode


class SlotTable:
    """The writer's side. To count, add to `table.values[slot]`, from one thread of one process.

    If the buffer already holds a table (of a replaced worker), the table is continued and no count is lost.
    """

    __slots__ = ("_entries", "_key_shares", "_keys_at", "_slot_shares", "_slots", "_slots_used", "_view", "values")

    def __init__(self, buffer: Buffer) -> None:
        if len(buffer) < MINIMUM_BYTES:
            raise ValueError(f"a slot table needs {MINIMUM_BYTES} bytes, got {len(buffer)}")
        self._view = memoryview(buffer)
        self._slots: dict[Key, int] = {}
        self._slots_used = 0
        self._keys_at = _keys_start(len(buffer))
        self._entries = 0
        self.values = _values(self._view)
        self._slot_shares = FairShares(len(self.values))
        self._key_shares = FairShares(len(buffer) - self._keys_at)
        if _HEADER.unpack_from(self._view)[0] == _MAGIC:
            self._continue()
        else:
            _HEADER.pack_into(self._view, 0, _MAGIC, 0)
        self.slot(OVERFLOW, 1 + WIDTH_MAX)

    def slot(self, key: Key, width: int = 1, *, tenant_at: int = NO_TENANT) -> int:
        """The first of `width` adjacent slots (at most `WIDTH_MAX`) for `key`. Registers a new key.

        `tenant_at` is the number of the label that names the tenant of the series. If the table is full, or the share
        of the tenant is used up, returns the overflow slots (see `is_overflow`) and counts the refusal. Never raises.
        """
        known = self._slots.get(key)
        if known is not None:
            return known
        payload = _encode((key.metric, width, key.labels, tenant_at))
        keys_end = self._keys_at + _LENGTH.size + len(payload)
        is_full = self._slots_used + width > len(self.values) or keys_end > len(self._view)
        if is_full or not self._has_share(key, width, keys_end - self._keys_at, tenant_at):
            self.values[_REFUSALS_SLOT] += 1
            return _OVERFLOW_SLOT
        _LENGTH.pack_into(self._view, self._keys_at, len(payload))
        self._view[self._keys_at + _LENGTH.size : keys_end] = payload
        first = self._remember(key, width, keys_end, tenant_at)
        _COUNT.pack_into(self._view, _COUNT_AT, self._entries)
        return first

    def _continue(self) -> None:
        for _ in range(_COUNT.unpack_from(self._view, _COUNT_AT)[0]):
            if (found := _entry(self._view, self._keys_at)) is None:
                return
            self._remember(*found)

    def _has_share(self, key: Key, width: int, key_bytes: int, tenant_at: int) -> bool:
        if tenant_at == NO_TENANT:
            return True
        tenant = key.labels[tenant_at]
        return self._slot_shares.has_room(tenant, width) and self._key_shares.has_room(tenant, key_bytes)

    def _remember(self, key: Key, width: int, keys_end: int, tenant_at: int) -> int:
        if tenant_at != NO_TENANT:
            tenant = key.labels[tenant_at]
            self._slot_shares.take(tenant, width)
            self._key_shares.take(tenant, keys_end - self._keys_at)
        first = self._slots_used
        self._slots[key] = first
        self._slots_used += width
        self._keys_at = keys_end
        self._entries += 1
        return first


def is_overflow(slot: int) -> bool:
    """Whether `slot` is an overflow slot, returned because the table is full.

    Whoever remembers such a slot counts one refusal for all that would have counted there.
    """
    return slot == _OVERFLOW_SLOT


class TableReader:
    """The reader's side, used while the writer may work: each entry is found once, its values are read at any time."""

    __slots__ = ("_at", "_entries", "_slots", "_view", "buffer", "values")

    def __init__(self, buffer: Buffer) -> None:
        """A buffer without a table counts as a table without entries, until there is one."""
        self.buffer = buffer
        self._view = memoryview(buffer)
        self._at = _keys_start(len(self._view))
        self._entries = 0
        self._slots = 0
        self.values = _values(self._view)

    def news(self) -> Iterator[Run]:
        """The published entries that were not found before, in the order of their registration.

        An invalid entry ends the iteration.
        """
        view = self._view
        if len(view) < MINIMUM_BYTES or _HEADER.unpack_from(view)[0] != _MAGIC:
            return
        while self._entries < _COUNT.unpack_from(view, _COUNT_AT)[0]:
            found = _entry(view, self._at)
            if found is None or self._slots + found[1] > len(self.values):
                return
            key, width, at, _ = found
            self._at = at
            first = self._slots
            self._slots += width
            self._entries += 1
            yield Run(key, first, width)


def read(buffer: Buffer) -> Iterator[Entry]:
    """The published entries of a table with their current values, as `TableReader` finds them."""
    reader = TableReader(buffer)
    for key, first, width in reader.news():
        yield Entry(key, tuple(reader.values[first : first + width]))


def _entry(view: memoryview, at: int) -> tuple[Key, int, int, int] | None:
    """Key, width, end and number of the tenant's label of the entry at an offset; None if the entry is invalid."""
    try:
        start = at + _LENGTH.size
        end = start + _LENGTH.unpack_from(view, at)[0]
        metric, width, labels, tenant_at = _decode(view[start:end])
    except (struct.error, msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not NO_TENANT <= tenant_at < len(labels):
        return None
    return Key(metric, labels), width, end, tenant_at


def _values(view: memoryview) -> memoryview[float]:
    return view[_HEADER.size : _keys_start(len(view))].cast("d")


def _keys_start(buffer_bytes: int) -> int:
    slots = (buffer_bytes - _HEADER.size) // _BYTES_PER_SLOT
    return _HEADER.size + slots * _VALUE_BYTES

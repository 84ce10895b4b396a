"""Bounds what others may cost: how many messages and how much work of a replica, how many connections of an address.

No I/O, no clock: times are seconds of any clock.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from ingress.replicas.messages import Message, MessageRefusal

# A replica tells ten times a second at most. One that was frozen finds at once what was sent to it meanwhile.
_MESSAGES_A_SECOND, _MESSAGES_AT_ONCE = 20.0, 120.0
# A word is about 8 bytes on the wire, or one value of a row. What a replica has to tell of 500 busy backends is 10,000
# words a second, and of the most rows that a message may have 170,000. Four full messages wait for one who was frozen.
_WORDS_A_SECOND, _WORDS_AT_ONCE = 200_000.0, 600_000.0
_WORD_BYTES: Final = 8
# Values that reading makes of a row, beside its bytes. Tables are read by column, so their bytes are all.
_ROW_WORDS: Final = {"picks": 2, "spent": 4, "loads": 9, "zones": 34, "health": 3, "flows": 6, "failing": 4, "left": 2}

# All replicas may start anew at once. After that one address has no reason to connect more often than it tells.
_CONNECTIONS_A_SECOND, _CONNECTIONS_AT_ONCE = 4.0, 128.0
_ADDRESSES_MOST: Final = 1024
_NETWORK_BITS: Final = 64  # of IPv6: whoever has one address there has them all

# Who has the secret could be another one with each connection.
_NEWCOMERS_A_SECOND: Final = 1.0


class Allowance:
    """So much is allowed at once, and so much a second in the long run. What is taken last may be more than is left."""

    __slots__ = ("_at", "_at_once", "_left", "_per_second")

    def __init__(self, per_second: float, at_once: float, *, at_first: float | None = None) -> None:
        """`at_first` is what is left in the beginning; None: `at_once`."""
        self._per_second = per_second
        self._at_once = at_once
        self._left = at_once if at_first is None else at_first
        self._at: float | None = None

    def is_left(self, now: float, amount: float = 1.0) -> bool:
        """Whether there is at least so much."""
        earned = 0.0 if self._at is None else max(0.0, now - self._at) * self._per_second
        self._left = min(self._left + earned, self._at_once)
        self._at = now
        return self._left >= amount

    def take(self, amount: float = 1.0) -> None:
        """Uses up so much."""
        self._left -= amount


class ReadingBudget:
    """How much of what another replica sends is read: messages, and work in `words_in` them. `floods`: it sent more."""

    __slots__ = ("_messages", "_words", "floods")

    def __init__(self) -> None:
        self._messages = Allowance(_MESSAGES_A_SECOND, _MESSAGES_AT_ONCE)
        # Who is new was not told while it was frozen.
        self._words = Allowance(_WORDS_A_SECOND, _WORDS_AT_ONCE, at_first=_WORDS_A_SECOND)
        self.floods = False

    def refusal(self, now: float) -> MessageRefusal | None:
        """Why the next message is not read; None: it is."""
        if not self._messages.is_left(now):
            return MessageRefusal.TOO_MANY
        return None if self._words.is_left(now) else MessageRefusal.TOO_MUCH

    def take(self, data: bytes) -> None:
        """A message is read."""
        self._messages.take()
        self._words.take(words_in(data))

    def learn(self, message: Message) -> None:
        """The `message` that was read is learnt from."""
        self._words.take(words_in(b"", message))


def newcomers_allowance(at_once: int) -> Allowance:
    """How many replicas that nobody knows may come."""
    return Allowance(_NEWCOMERS_A_SECOND, float(at_once))


def words_in(data: bytes, message: Message | None = None) -> int:
    """What it takes to read `data`, and then to learn from the `message` in it."""
    words = len(data) // _WORD_BYTES
    if message is None:
        return words
    return words + sum(len(getattr(message, field) or ()) * each for field, each in _ROW_WORDS.items())


class Callers:
    """Who may open a connection. Each costs a handshake, whoever is there."""

    __slots__ = ("_addresses",)

    def __init__(self) -> None:
        self._addresses: dict[str, Allowance] = {}  # the one that called last is the last one

    def may_call(self, address: str, now: float) -> bool:
        """Whether one more connection of an address is opened."""
        network = _network_of(address)
        allowance = self._addresses.pop(network, None)
        if allowance is None:
            allowance = Allowance(_CONNECTIONS_A_SECOND, _CONNECTIONS_AT_ONCE)
            if len(self._addresses) >= _ADDRESSES_MOST:
                del self._addresses[next(iter(self._addresses))]
        self._addresses[network] = allowance
        if not allowance.is_left(now):
            return False
        allowance.take()
        return True


def _network_of(address: str) -> str:
    """Whom an address counts for."""
    if ":" not in address:
        return address
    number = int(ipaddress.IPv6Address(address.partition("%")[0]))
    return str(number >> (128 - _NETWORK_BITS))

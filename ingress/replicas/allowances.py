"""Bounds what others may cost: how many messages and how much work of a replica, how many connections of an address.

No I/O, no clock: times are seconds of any clock.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from balancer.runtime.token_buckets import TokenBucket
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


class ReadingBudget:
    """How much of what another replica sends is read: messages, and work in `words_in` them. `floods`: it sent more."""

    __slots__ = ("_messages", "_words", "floods")

    def __init__(self) -> None:
        self._messages = TokenBucket(burst=_MESSAGES_AT_ONCE, per_second=_MESSAGES_A_SECOND)
        # Who is new was not told while it was frozen.
        self._words = TokenBucket(burst=_WORDS_AT_ONCE, per_second=_WORDS_A_SECOND, at_first=_WORDS_A_SECOND)
        self.floods = False

    def refusal(self, now: float) -> MessageRefusal | None:
        """Why the next message is not read; None: it is."""
        if not self._messages.holds(now):
            return MessageRefusal.TOO_MANY
        return None if self._words.holds(now) else MessageRefusal.TOO_MUCH

    def take(self, data: bytes) -> None:
        """A message is read."""
        self._messages.take()
        self._words.take(words_in(data))

    def learn(self, message: Message) -> None:
        """The `message` that was read is learnt from."""
        self._words.take(words_in(b"", message))


def newcomers_bucket(at_once: int) -> TokenBucket:
    """How many replicas that nobody knows may come."""
    return TokenBucket(burst=at_once, per_second=_NEWCOMERS_A_SECOND)


def words_in(data: bytes, message: Message | None = None) -> int:
    """What it takes to read `data`, and then to learn from the `message` in it."""
    words = len(data) // _WORD_BYTES
    if message is None:
        return words
    return words + sum(len(getattr(message, field) or ()) * each for field, each in _ROW_WORDS.items())


class Callers:
    """Who may open a connection. Each costs a handshake, whoever is there."""

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: dict[str, TokenBucket] = {}  # the one that called last is the last one

    def may_call(self, address: str, now: float) -> bool:
        """Whether one more connection of an address is opened."""
        network = _network_of(address)
        bucket = self._buckets.pop(network, None)
        if bucket is None:
            bucket = TokenBucket(burst=_CONNECTIONS_AT_ONCE, per_second=_CONNECTIONS_A_SECOND)
            if len(self._buckets) >= _ADDRESSES_MOST:
                del self._buckets[next(iter(self._buckets))]
        self._buckets[network] = bucket
        if not bucket.holds(now):
            return False
        bucket.take()
        return True


def _network_of(address: str) -> str:
    """Whom an address counts for."""
    if ":" not in address:
        return address
    number = int(ipaddress.IPv6Address(address.partition("%")[0]))
    return str(number >> (128 - _NETWORK_BITS))

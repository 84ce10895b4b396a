"""Decides which changed Secrets a translation judges, so that thousands of new keys of one namespace delay nobody else.

A key costs milliseconds to judge, and nothing is published meanwhile. So a translation judges a bounded number of
Secrets, in turns by namespace. It sees the others as they were, and the next translation goes on with them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ingress.objects.kinds import Secret
from ingress.sources.inventory import Inventory
from ingress.translation.sharing import Key

_JUDGED = ("tls.key", "ca.crt", "ca.crl")


class SecretTurns:
    """The Secrets that translations see: each as it is, or as it was when it was judged last."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[Key, Secret] = {}

    def hold_back(self, wanted: Iterable[Key], inventory: Inventory, *, most: int | None) -> dict[Key, Secret | None]:
        """What to see in place of the Secrets that have to wait; None: there was none before.

        `wanted` are those that count. `most` of them are judged now; None: all.
        """
        if most is None:
            return {}
        changed = [key for key in wanted if not _is_judged(self._seen.get(key), inventory.secret(*key))]
        if len(changed) <= most:
            return {}
        return {key: self._seen.get(key) for key in set(changed) - first_in_turns(changed, most).keys()}

    def saw(self, wanted: Iterable[Key], inventory: Inventory) -> None:
        """A translation has seen these Secrets as `inventory` shows them, so they are judged."""
        self._seen = {key: secret for key in wanted if (secret := inventory.secret(*key)) is not None}


def first_in_turns(keys: Iterable[Key], most: int) -> dict[Key, None]:
    """The first `most` of `keys` if namespaces take turns, in this order; by name within a namespace."""
    queues: dict[str, deque[Key]] = {}
    for key in sorted(keys):
        queues.setdefault(key[0], deque()).append(key)
    first: dict[Key, None] = {}
    turns = deque(queues.values())
    while turns and len(first) < most:
        queue = turns.popleft()
        first[queue.popleft()] = None
        if queue:
            turns.append(queue)
    return first


def _is_judged(seen: Secret | None, secret: Secret | None) -> bool:
    """Whether judging `secret` costs nothing: it was judged before, or it has nothing of that kind."""
    if secret is None or seen is secret:
        return True
    if not any(entry in data for data in (secret.data, secret.string_data) for entry in _JUDGED):
        return True
    return seen is not None and (seen.data, seen.string_data) == (secret.data, secret.string_data)

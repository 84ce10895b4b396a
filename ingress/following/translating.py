"""Makes translations beside traffic: a whole one in a thread, one of changed slices in turns of the event loop.

Remembers what translations have made. Does not know when one is due.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from balancer.runtime.garbage import leave_out, not_searching
from balancer.runtime.turns import in_turns
from ingress.settings.context import TranslationContext
from ingress.sources.contract import Wanted
from ingress.sources.inventory import Changes, Inventory
from ingress.translation.assembly import Memories, Translation, translate, with_endpoints

# A key of RSA 2048 takes 2 ms to judge and one of RSA 4096 takes 8 ms: half a second, or two at worst.
JUDGED_MOST: Final = 256


class Translating:
    """The translations of one inventory. One after the first model judges `judged_most` changed Secrets."""

    __slots__ = ("_inventory", "_judged_most", "_memories")

    def __init__(self, inventory: Inventory, *, judged_most: int = JUDGED_MOST) -> None:
        self._inventory = inventory
        self._judged_most = judged_most
        self._memories = Memories()

    async def whole(self, context: TranslationContext, *, before: Wanted, is_first: bool) -> Translation:
        """A translation of everything. The inventory must not change meanwhile. `before` is what the last one wanted.

        It runs in a thread, because a large cluster takes half a second, and this event loop may serve traffic.
        """
        with not_searching():
            translation = await asyncio.to_thread(
                translate,
                self._inventory,
                context,
                memories=self._memories,
                before=before,
                judged_most=None if is_first else self._judged_most,
                now_epoch_seconds=time.time(),
            )
            leave_out()  # most of it stays
            return translation

    async def with_slices(self, last: Translation, changes: Changes) -> Translation:
        """`last` after `changes` of slices alone."""
        with not_searching():  # a translation makes no cycles, and a search would walk through a large model
            found = await in_turns(with_endpoints(last, sorted(changes.slices_of), self._inventory))
            leave_out()  # to search through what stays would take milliseconds, five times a second
        return found

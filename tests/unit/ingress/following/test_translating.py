"""A translation of changed slices equals one of everything, and neither stops the event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from ingress.following.translating import Translating
from ingress.settings.context import TranslationContext
from ingress.sources.contract import Wanted
from ingress.sources.events import Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Translation, translate
from tests.unit.ingress.cluster import endpoint, endpoint_slice, ingress, path, rule
from tests.unit.ingress.following.scene import lists


def inventory_of_a_shop() -> Inventory:
    inventory = Inventory()
    for event in lists(ingress("web", rule("shop.test", path("/")))):
        inventory.apply(event)
    inventory.take_changes()
    return inventory


async def test_slices_alone_give_what_everything_gives() -> None:
    inventory = inventory_of_a_shop()
    translating = Translating(inventory)
    first = await translating.whole(TranslationContext(), before=Wanted(), is_first=True)
    inventory.apply(Upserted(endpoint_slice("cart", endpoint("10.0.0.9"))))
    changed = await translating.with_slices(first, inventory.take_changes())
    again = await translating.whole(TranslationContext(), before=first.wanted, is_first=False)
    assert changed.model == again.model != first.model
    assert changed.model.hosts is first.model.hosts


async def test_a_whole_translation_leaves_the_event_loop_free(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, threads = asyncio.get_running_loop(), list[int]()

    def translate_after_a_turn(*arguments: Any, **options: Any) -> Translation:
        threads.append(threading.get_ident())
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(10)
        return translate(*arguments, **options)

    monkeypatch.setattr("ingress.following.translating.translate", translate_after_a_turn)
    await Translating(inventory_of_a_shop()).whole(TranslationContext(), before=Wanted(), is_first=True)
    assert threads != [threading.get_ident()]

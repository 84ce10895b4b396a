"""Contexts that ask clients for certificates: what is read once, shared, bounded and forgotten."""

from __future__ import annotations

import asyncio
import threading

import msgspec
import pytest

from balancer.connections import trust
from balancer.connections.asking_contexts import AskingContexts, ContextKey, asking_room
from balancer.connections.asking_tls import SharedContext
from balancer.model.certificates import Authority
from balancer.model.settings import ListenerTls
from tests.unit.balancer.connections.test_asking_tls import CERTIFICATE, CLIENTS

AUTHORITY = Authority("shop/clients", CLIENTS.cert_pem.bytes())
KEY: ContextKey = (CERTIFICATE, ("", "one", 1, False, ""))
BROKEN = msgspec.structs.replace(CERTIFICATE, key="shop/broken", chain_pem=b"nonsense")


def kept(*keys: ContextKey, authority: Authority = AUTHORITY, most_bytes: int = 1 << 20) -> AskingContexts:
    contexts = AskingContexts(asking_room(most_bytes))
    keep(contexts, *keys, authority=authority)
    return contexts


def keep(contexts: AskingContexts, *keys: ContextKey, authority: Authority = AUTHORITY) -> None:
    contexts.keep({key[0] for key in keys}, {key[1] for key in keys}, {key[1][1]: authority for key in keys})


def made(contexts: AskingContexts, key: ContextKey = KEY) -> SharedContext | None:
    return contexts.context(key, CERTIFICATE, ListenerTls(), ["http/1.1"])


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads that have read an authority."""
    found: list[str] = []
    read = trust.Trust.read

    def noting(authority: Authority) -> trust.Trust:
        found.append(threading.current_thread().name)
        return read(authority)

    monkeypatch.setattr(trust.Trust, "read", noting)
    return found


async def test_an_authority_is_read_once_in_a_thread_whoever_waits(readers: list[str]) -> None:
    contexts = kept(KEY)
    assert not contexts.is_ready("one")
    first = asyncio.create_task(contexts.read("one"))
    others = [asyncio.create_task(contexts.read("one")) for _ in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(*others)
    assert contexts.is_ready("one")
    assert made(contexts) is made(contexts) is not None
    assert made(contexts, (CERTIFICATE, ("", "one", 2, False, ""))) is not made(contexts)
    assert len(readers) == 1
    assert readers[0].startswith("authorities")


async def test_what_is_not_wanted_any_more_is_not_kept() -> None:
    contexts = kept(KEY)
    reading = asyncio.create_task(contexts.read("one"))
    await asyncio.sleep(0)
    keep(contexts)
    await reading
    keep(contexts, KEY)
    assert not contexts.is_ready("one")


def test_a_context_stays_while_it_is_wanted(readers: list[str]) -> None:
    other: ContextKey = (CERTIFICATE, ("", "two", 1, False, ""))
    contexts = kept(KEY)
    before = made(contexts)
    keep(contexts, KEY, other)
    assert made(contexts) is before
    keep(contexts, other)
    assert made(contexts) is None
    keep(contexts, KEY)
    assert made(contexts) is not before
    assert len(readers) == 2


def test_another_protocol_needs_other_contexts_and_no_reading(readers: list[str]) -> None:
    contexts = kept(KEY)
    before = made(contexts)
    contexts.clear()
    assert made(contexts) is not before
    assert len(readers) == 1


def test_a_broken_authority_makes_no_context_and_is_read_once(readers: list[str]) -> None:
    contexts = kept(KEY, authority=Authority("shop/clients", b"nonsense"))
    assert made(contexts) is made(contexts) is None
    assert contexts.is_ready("one")
    assert len(readers) == 1


def test_an_unknown_authority_makes_no_context() -> None:
    contexts = kept()
    assert contexts.is_ready("one")
    assert made(contexts) is None


def test_the_fallback_is_shown_in_place_of_a_broken_certificate() -> None:
    key = (BROKEN, KEY[1])
    contexts = kept(key)
    assert made(contexts, key) is made(contexts, key) is not None
    assert contexts.context(key, BROKEN, ListenerTls(), []) is not None
    contexts.clear()
    assert contexts.context(key, BROKEN, ListenerTls(), []) is None


def test_a_tenant_with_many_contexts_gives_way_itself() -> None:
    greedy = [(msgspec.structs.replace(CERTIFICATE, key=f"greedy/{number}"), KEY[1]) for number in range(12)]
    contexts = kept(KEY, *greedy, most_bytes=8 * 22 * 1024)
    modest, first = made(contexts), made(contexts, greedy[0])
    for key in greedy:
        assert made(contexts, key) is not None
    assert made(contexts) is modest
    assert made(contexts, greedy[0]) is not first

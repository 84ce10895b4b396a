"""Contexts of certificates have bounded room, which namespaces share."""

from __future__ import annotations

import ssl

from balancer.connections.shown_contexts import ShownContexts, shown_room
from balancer.model.certificates import Certificate


def certificate(key: str, chain_bytes: int = 1024) -> Certificate:
    return Certificate(key, b"c" * chain_bytes, b"k", 0.0)


def context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


def test_a_namespace_with_many_long_chains_pushes_out_its_own_contexts_alone() -> None:
    room, shared = shown_room(4 * 1024 * 1024), context()
    contexts = ShownContexts(room)
    modest = [(certificate(f"modest/{number}"), "") for number in range(20)]
    for key in modest:
        contexts.put(key, shared)
    for number in range(500):
        contexts.put((certificate(f"greedy/{number}", 128 * 1024), ""), shared)
    assert [contexts.get(key) for key in modest] == [shared] * 20
    assert 20 < len(room) <= 20 + 4 * 1024 * 1024 // (4 * 128 * 1024)


def test_what_is_not_in_use_any_more_goes() -> None:
    room, shared = shown_room(), context()
    contexts, beside = ShownContexts(room), ShownContexts(room)
    one, other = certificate("a/one"), certificate("a/other")
    for key in ((one, ""), (one, "HIGH"), (other, "")):
        contexts.put(key, shared)
        beside.put(key, shared)
    contexts.keep({one}, {""})
    assert [contexts.get(key) for key in ((one, ""), (one, "HIGH"), (other, ""))] == [shared, None, None]
    contexts.clear()
    assert len(room) == 3, "those of other listeners"
    assert [beside.get(key) for key in ((one, ""), (one, "HIGH"), (other, ""))] == [shared] * 3

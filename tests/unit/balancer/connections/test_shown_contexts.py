"""Contexts of certificates have bounded room, which namespaces share."""

from __future__ import annotations

import ssl

from balancer.connections.shown_contexts import ShownContexts
from balancer.model.certificates import Certificate


def certificate(key: str, chain_bytes: int = 1024) -> Certificate:
    return Certificate(key, b"c" * chain_bytes, b"k", 0.0)


def context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


def test_a_namespace_with_many_long_chains_pushes_out_its_own_contexts_alone() -> None:
    contexts, shared = ShownContexts(4 * 1024 * 1024), context()
    modest = [(certificate(f"modest/{number}"), "") for number in range(20)]
    for key in modest:
        contexts.put(key, shared)
    for number in range(500):
        contexts.put((certificate(f"greedy/{number}", 128 * 1024), ""), shared)
    assert [contexts.get(key) for key in modest] == [shared] * 20
    assert 20 < len(contexts) <= 20 + 4 * 1024 * 1024 // (4 * 128 * 1024)


def test_what_is_not_in_use_any_more_goes() -> None:
    contexts, shared = ShownContexts(), context()
    one, other = certificate("a/one"), certificate("a/other")
    for key in ((one, ""), (one, "HIGH"), (other, "")):
        contexts.put(key, shared)
    contexts.keep({one}, {""})
    assert [contexts.get(key) for key in ((one, ""), (one, "HIGH"), (other, ""))] == [shared, None, None]
    contexts.clear()
    assert len(contexts) == 0

"""Contexts for endpoints are kept in room that tenants share, and long ones hold no event loop."""

from __future__ import annotations

import asyncio
import ssl
import threading
from contextlib import suppress

import pytest
import trustme

from balancer.connections.endpoint_contexts import EndpointContexts
from balancer.connections.endpoint_tls import make_endpoint_context, shared_demands
from balancer.model.handshakes import Handshake
from tests.fakes.sockets import until

LONG = b"".join(trustme.CA(organization_name=f"authority {number}").cert_pem.bytes() for number in range(12))
SHORT = trustme.CA().cert_pem.bytes()
KIB = 1024


class Making:
    """Makes contexts, and notes for which demands and in which thread. Long ones wait until they are `free`."""

    def __init__(self) -> None:
        self.made: list[Handshake] = []
        self.threads: list[int] = []
        self.free = threading.Event()

    def __call__(self, tls: Handshake, http2: bool) -> ssl.SSLContext:
        self.threads.append(threading.get_ident())
        if tls.ca_pem == LONG:
            assert self.free.wait(30.0)
        self.made.append(tls)
        return make_endpoint_context(tls, http2)

    def contexts(self, most_bytes: int = 1024 * KIB) -> EndpointContexts:
        return EndpointContexts(shared_demands, self, most_bytes)


def trusting(ca_pem: bytes, name: str = "", times: int = 1) -> Handshake:
    """`times` makes other demands of handshakes that trust the same."""
    return Handshake(verify=True, server_name=name or None, ca_pem=ca_pem, ciphers=":".join(["AES128-SHA"] * times))


async def test_handshakes_that_differ_in_no_demand_share_a_context() -> None:
    making = Making()
    contexts = making.contexts()
    one = await contexts.of("shop", trusting(SHORT, "a.test"))
    assert one is await contexts.of("shop", trusting(SHORT, "b.test"))
    assert one is not await contexts.of("shop", trusting(SHORT, "a.test"), http2=True)
    assert one is not await contexts.of("other", trusting(SHORT, "a.test")), "each namespace holds what it needs"
    assert len(making.made) == 3
    assert len(one.get_ca_certs()) == 1


async def test_many_authorities_are_read_in_a_thread_once_for_all_who_wait() -> None:
    making = Making()
    contexts = making.contexts()
    asking = [asyncio.create_task(contexts.of("shop", trusting(LONG, f"{number}.test"))) for number in range(5)]
    await until(lambda: len(making.threads) == 1)
    assert making.threads != [threading.get_ident()]
    assert len((await contexts.of("modest", trusting(SHORT))).get_ca_certs()) == 1, "the event loop goes on"
    making.free.set()
    found = set(await asyncio.gather(*asking))
    assert len(found) == 1
    assert len(found.pop().get_ca_certs()) == 12
    assert making.made.count(shared_demands(trusting(LONG))) == 1


async def test_whoever_holds_most_gives_way_and_others_keep_theirs() -> None:
    making = Making()
    making.free.set()
    contexts = making.contexts(most_bytes=40 * len(LONG))
    modest = await contexts.of("modest", trusting(LONG))
    for times in range(1, 12):
        await contexts.of("greedy", trusting(LONG, times=times))
    assert await contexts.of("modest", trusting(LONG)) is modest
    before = len(making.made)
    await contexts.of("greedy", trusting(LONG))
    assert len(making.made) == before + 1, "the oldest of the greedy one had to go"


async def test_a_namespace_with_many_long_contexts_delays_another_by_one_or_two() -> None:
    making = Making()
    contexts = making.contexts()
    greedy = [asyncio.create_task(contexts.of("greedy", trusting(LONG, times=times))) for times in range(1, 9)]
    await until(lambda: len(making.threads) == 1)
    modest = asyncio.create_task(contexts.of("modest", trusting(LONG)))
    await asyncio.sleep(0)  # it has asked
    making.free.set()
    await modest
    assert sum(each.done() for each in greedy) <= 3
    await asyncio.gather(*greedy)


async def test_who_leaves_takes_nothing_from_those_who_wait() -> None:
    making = Making()
    contexts = making.contexts()
    first, second = (asyncio.create_task(contexts.of("shop", trusting(LONG))) for _ in range(2))
    await until(lambda: len(making.threads) == 1)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    making.free.set()
    assert len((await second).get_ca_certs()) == 12


@pytest.mark.parametrize("ca_pem", [b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nAAAA\n" * 400])
async def test_what_cannot_be_read_fails_each_handshake(ca_pem: bytes) -> None:
    contexts = Making().contexts()
    for _ in range(2):
        with pytest.raises(ssl.SSLError):
            await contexts.of("shop", trusting(ca_pem))

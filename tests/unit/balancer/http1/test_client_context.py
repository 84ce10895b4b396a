"""Connections of one worker share what one of them has learnt, and those of another worker do not."""

from __future__ import annotations

from tests.fakes.clients import RawClient
from tests.unit.balancer.http1.listening import GET, Listener, next_request


async def test_what_a_connection_began_with_is_known_to_all_with_its_context() -> None:
    async with Listener() as listener, Listener() as another, RawClient(listener.port) as client:
        connection = await listener.opened.get()
        client.send(GET)
        assert await next_request(connection) is not None
        known = [each.context.first_heads.find(GET, each.context.settings.proxy) for each in (listener, another)]
        assert [found is not None for found in known] == [True, False]

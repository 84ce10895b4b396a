"""Connections that give way to those of other clients, on real sockets and in every state before their end."""

from __future__ import annotations

from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.unit.balancer.connections.desk import V1, desk


async def test_beyond_the_limit_another_client_takes_a_place_of_who_has_most() -> None:
    async with desk(bound=4) as at:
        for _ in range(4):
            await at.connect()
        await until(lambda: len(at.clients) == 4)
        await at.connect(address="127.0.0.2")
        await until(lambda: len(at.clients) == 5 and at.clients[0].closed)
        await at.connect(secure=True, address="127.0.0.3")
        await until(lambda: len(at.reception.arriving) == 1 and at.clients[1].closed)
        assert at.notes == ["connection_limit"] * 2
        assert len(at.places) == 4


async def test_a_handshake_that_has_not_begun_gives_its_place_to_another_client() -> None:
    async with desk(bound=4, handshake_seconds=PATIENCE_SECONDS) as at:
        for _ in range(4):
            await at.connect(secure=True)
        await until(lambda: len(at.reception.arriving) == 4)
        await at.connect(address="127.0.0.2")
        await until(lambda: len(at.clients) == 1 and len(at.reception.arriving) == 3)
        assert (at.notes, len(at.places)) == (["connection_limit"], 4)


async def test_with_the_proxy_protocol_places_belong_to_the_client_that_the_header_names() -> None:
    async with desk(bound=4, proxy_protocol=True) as at:
        for _ in range(3):
            await at.connect(first=V1)
        await until(lambda: len(at.clients) == 3)
        await at.connect(first=V1.replace(b"192.0.2.7", b"192.0.2.8"))
        await until(lambda: len(at.clients) == 4)
        await at.connect(first=V1.replace(b"192.0.2.7", b"192.0.2.9"))
        await until(lambda: len(at.clients) == 5 and at.clients[0].closed)
        await at.connect(first=V1)
        await until(lambda: len(at.clients) == 6 and at.clients[1].closed)
        assert (at.notes, len(at.places)) == (["connection_limit"] * 2, 4)
        assert not at.clients[3].closed


async def test_with_the_proxy_protocol_who_has_most_gets_no_place_of_a_client_that_came_meanwhile() -> None:
    async with desk(bound=3, proxy_protocol=True) as at:
        late = await at.connect()
        await until(lambda: len(at.reception.arriving) == 1)
        for _ in range(2):
            await at.connect(first=V1)
        await until(lambda: len(at.clients) == 2)
        at.places.enter("another", "192.0.2.8")
        at.places.enter("one more", "192.0.2.9")
        late.write(V1)
        await until(lambda: not at.reception.arriving)
        assert (len(at.clients), at.notes) == (2, ["connection_limit"])

"""Messages to another replica over real sockets: who is there, and who does not answer."""

from __future__ import annotations

import pytest
from aiohttp import web

from balancer.connections.listeners import listen, port_of
from ingress.admin.doors import open_doors
from ingress.replicas.lines import NotHeard, Teller
from ingress.replicas.trust import PEER_NAME, credentials_of
from tests.integration.running import until
from tests.unit.ingress.replicas.ears import SECRET, Ear, hearing, line_to, told

pytestmark = pytest.mark.large


async def test_messages_come_with_the_identity_of_their_sender_and_answers_say_the_zone() -> None:
    ear, here = Ear(), credentials_of(SECRET)
    messages = [b"hello", *(f"and {number} more".encode() for number in range(9))]
    async with hearing(ear) as port, line_to(port, here) as line:
        for message in messages:
            assert await told(line, message) == ("zone-b", ear.credentials.identity)
        await until(lambda: len(ear.heard) == len(messages), seconds=30)
        assert ear.heard == [(here.identity, message) for message in messages]
        assert not line.is_older


async def test_one_that_started_anew_at_the_same_place_is_told_over_another_stream() -> None:
    first, second, here = Ear(), Ear(), credentials_of(SECRET)
    async with hearing(first) as port, line_to(port, here) as line:
        assert (await told(line, b"hello"))[1] == first.credentials.identity
    async with hearing(second, port), line_to(port, here) as line:
        assert (await told(line, b"hello"))[1] == second.credentials.identity


async def test_replicas_of_schema_1_hear_and_tell_by_one_request_for_each_message() -> None:
    """The older one has the path of its version alone. After it, one of this version is at the same place."""
    older, newer, here, came = credentials_of(SECRET), Ear(), credentials_of(SECRET), list[bytes]()

    async def answer(request: web.Request) -> web.Response:
        came.append(await request.read())
        return web.Response(status=204, headers={"Zonal-Replica": older.identity, "Zonal-Zone": "zone-c"})

    app = web.Application()
    app.router.add_post("/tell", answer)
    listener = listen("127.0.0.1", 0, purpose="peer")
    port = port_of(listener)
    runner = await open_doors(app, listener, tls=older.server)
    async with line_to(port, here) as line:
        try:
            assert await told(line, b"hello") == ("zone-c", older.identity)
            assert line.is_older
            assert await told(line, b"more") == ("zone-c", older.identity)
        finally:
            await runner.cleanup()
        assert came == [b"hello", b"more"]
        async with hearing(newer, port):
            for message in (b"first", b"second"):
                assert await told(line, message) == ("zone-b", newer.credentials.identity)
                assert not line.is_older
            url = f"https://127.0.0.1:{port}/tell"
            teller = Teller(older)
            async with teller._session.post(url, data=b"old", ssl=older.client, server_hostname=PEER_NAME) as heard:
                assert (heard.status, heard.headers["Zonal-Zone"]) == (204, "zone-b")
            await teller.close()
        await until(lambda: len(newer.heard) == 3, seconds=30)
        assert newer.heard == [(here.identity, b"first"), (here.identity, b"second"), (older.identity, b"old")]


async def test_who_does_not_listen_does_not_hear() -> None:
    async with hearing(Ear()) as port:
        pass
    async with line_to(port, credentials_of(SECRET)) as line:
        with pytest.raises(NotHeard):
            await told(line, b"hello")
    teller = Teller(credentials_of(SECRET))
    with pytest.raises(NotHeard):
        await told(teller.line("no place:at all"), b"hello")
    await teller.close()

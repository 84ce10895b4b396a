"""How auth services are asked: in bounded time and numbers, whatever they do, and whoever leaves."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from balancer.connections.auth_services import AuthClient, AuthLimits
from balancer.http.messages import Fields
from balancer.matching.gates.external_auth.answers import AuthAnswer
from balancer.matching.gates.external_auth.requests import AuthRequest
from balancer.runtime.absences import NEVER_ABSENT, Absences
from tests.fakes.endpoints import ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until
from tests.fakes.stalls import stall
from tests.unit.balancer.proxy.standing import refusing

pytestmark = pytest.mark.large

PATIENT = AuthLimits(deadline_seconds=20.0)
HASTY = AuthLimits(deadline_seconds=0.3)


class Names:
    """Stands in for the resolver of the system: `hangs.test` hangs, other names of `.test` have no address."""

    def __init__(self) -> None:
        self.hanging = 0
        self.go_on = threading.Event()
        self._known = socket.getaddrinfo

    def look_up(self, host: str, *arguments: Any, **named: Any) -> Any:
        if host == "hangs.test":
            self.hanging += 1
            self.go_on.wait()
        if host.endswith(".test"):
            raise socket.gaierror(socket.EAI_NONAME, "as a test wants it")
        return self._known(host, *arguments, **named)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    stand_in = Names()
    monkeypatch.setattr(socket, "getaddrinfo", stand_in.look_up)
    yield stand_in
    stand_in.go_on.set()


def request_to(authority: str, *, fields: Fields = (), method: str = "GET", local: bool = True) -> AuthRequest:
    return AuthRequest(method, "http", authority, b"auth.test", b"/check?a=b", fields, verify=False, allow_local=local)


def where(endpoint: ScriptedEndpoint) -> str:
    return f"{endpoint.address}:{endpoint.port}"


@asynccontextmanager
async def client_of(limits: AuthLimits = PATIENT, absences: Absences = NEVER_ABSENT) -> AsyncIterator[AuthClient]:
    client = AuthClient(limits, absences=absences)
    try:
        yield client
    finally:
        await client.stop()
        assert not client.busy


async def asked(client: AuthClient, request: AuthRequest) -> AuthAnswer | None:
    answer: asyncio.Future[AuthAnswer | None] = asyncio.get_running_loop().create_future()
    assert client.ask(request, answer.set_result) is not None
    return await answer


async def silent(visit: Visit) -> None:
    await visit.head()
    await visit.rest()


async def test_what_the_service_gets_and_what_is_known_of_its_answer() -> None:
    answer = b"HTTP/1.1 200 OK\r\nX-User: Al\r\nContent-Length: 2\r\n\r\nhi"
    fields = ((b"cookie", b"a=1"), (b"cookie", b"b=2"), (b"x-name", "é".encode()), (b"X-Sent-From", b"us"))
    seen: list[bytes] = []

    async def script(visit: Visit) -> None:
        seen.append(await visit.head())
        await visit.send(answer)

    async with ScriptedEndpoint(script) as service, client_of() as client:
        told = await asked(client, request_to(where(service), fields=fields))
    assert told == AuthAnswer(200, ((b"x-user", b"Al"), (b"content-length", b"2")))
    line, *lines = seen[0].split(b"\r\n")
    assert line == b"GET /check?a=b HTTP/1.1"
    assert sorted(filter(None, lines)) == sorted(
        [b"Host: auth.test", b"cookie: a=1", b"cookie: b=2", b"x-name: \xc3\xa9", b"X-Sent-From: us"]
    )


async def test_a_value_that_is_no_utf8_is_sent_as_text() -> None:
    async with ScriptedEndpoint(answering(b"HTTP/1.1 204 No Content\r\n\r\n")) as service, client_of() as client:
        told = await asked(client, request_to(where(service), fields=((b"x-name", b"\xe9"),)))
        assert told is not None
        assert b"x-name: \xc3\xa9\r\n" in service.visits[0].received


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
        b"HTTP/1.1 200",
        b"HTTP/1.1 401 No\r\nContent-Length: 9\r\n\r\ncut",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
    ],
)
async def test_what_is_no_answer(answer: bytes) -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(answer)

    async with ScriptedEndpoint(script) as service, client_of() as client:
        assert await asked(client, request_to(where(service))) is None


async def test_interim_answers_are_passed_over() -> None:
    answer = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"
    async with ScriptedEndpoint(answering(answer)) as service, client_of() as client:
        told = await asked(client, request_to(where(service)))
        assert told is not None
        assert (told.status, told.body) == (403, b"no")


async def test_interim_answers_without_end_take_no_longer_than_the_deadline() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        while True:
            await visit.send(b"HTTP/1.1 102 Processing\r\n\r\n" * 100)

    async with ScriptedEndpoint(script) as service, client_of(HASTY) as client:
        assert await asked(client, request_to(where(service))) is None


async def test_redirects_are_not_followed() -> None:
    async with ScriptedEndpoint(silent) as other:
        answer = b"HTTP/1.1 302 Found\r\nLocation: http://%b/\r\nContent-Length: 0\r\n\r\n" % where(other).encode()
        async with ScriptedEndpoint(answering(answer)) as service, client_of() as client:
            told = await asked(client, request_to(where(service)))
            assert told is not None
            assert told.status == 302
        assert other.requests == 0


async def test_no_cookie_of_one_answer_is_sent_with_the_next_request() -> None:
    answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n"
    async with ScriptedEndpoint(answering(answer)) as service, client_of() as client:
        for _ in range(2):
            assert await asked(client, request_to(where(service))) is not None
        assert all(b"cookie" not in visit.received.lower() for visit in service.visits)


async def test_a_long_refusal_is_told_without_its_body() -> None:
    body = b"HTTP/1.1 403 No\r\nContent-Length: 1000000\r\n\r\n" + b"a" * 1_000_000
    async with ScriptedEndpoint(answering(body)) as service, client_of() as client:
        told = await asked(client, request_to(where(service)))
        assert told is not None
        assert (told.status, told.body) == (403, b"")


async def test_a_good_answer_is_told_although_its_body_never_ends() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
        while True:
            await visit.send(b"a" * 65536)

    async with ScriptedEndpoint(script) as service, client_of() as client:
        told = await asked(client, request_to(where(service)))
        assert told is not None
        assert told.status == 200
        await until(lambda: not client.busy)


async def test_a_service_that_is_silent_is_no_answer_in_time() -> None:
    async with ScriptedEndpoint(silent) as service, client_of(HASTY) as client:
        assert await asked(client, request_to(where(service))) is None


async def test_a_service_that_is_not_there() -> None:
    with refusing() as nobody:
        async with client_of() as client:
            assert await asked(client, request_to(f"{nobody.address}:{nobody.port}")) is None


async def test_whoever_was_told_is_let_go_although_the_error_is_in_a_cycle() -> None:
    class Waiter:
        def tell(self, answer: AuthAnswer | None) -> None:
            told.append(answer)

    async def ask() -> weakref.ref[Waiter]:
        waiter = Waiter()
        assert client.ask(request_to(f"{nobody.address}:{nobody.port}"), waiter.tell) is not None
        return weakref.ref(waiter)

    told: list[AuthAnswer | None] = []
    gc.disable()
    try:
        with refusing() as nobody:
            async with client_of() as client:
                waiter = await ask()
                await until(lambda: told == [None] and not client.busy)
                assert waiter() is None
    finally:
        gc.enable()


async def test_a_name_without_an_address(names: Names) -> None:
    async with client_of() as client:
        assert await asked(client, request_to("nobody.test")) is None


async def test_a_name_whose_look_up_hangs_stops_no_other(names: Names) -> None:
    answer = answering(b"HTTP/1.1 204 No Content\r\n\r\n")
    async with ScriptedEndpoint(answer) as service, client_of() as client:
        for _ in range(20):
            assert client.ask(request_to("hangs.test"), lambda answer: None) is not None
        await until(lambda: names.hanging == 1)  # one look-up for all of them
        assert await asked(client, request_to(f"localhost:{service.port}")) is not None
        names.go_on.set()


async def test_a_look_up_that_hangs_takes_no_longer_than_the_deadline(names: Names) -> None:
    async with client_of(HASTY) as client:
        assert await asked(client, request_to("hangs.test")) is None


@pytest.mark.parametrize(("local", "status"), [(True, 204), (False, None)])
async def test_a_name_leads_to_this_machine_only_if_that_is_allowed(local: bool, status: int | None) -> None:
    answer = answering(b"HTTP/1.1 204 No Content\r\n\r\n")
    async with ScriptedEndpoint(answer) as service, client_of() as client:
        told = await asked(client, request_to(f"localhost:{service.port}", local=local))
        assert (told.status if told is not None else None) == status
        assert service.requests == (status is not None)


async def test_an_address_of_this_machine_is_asked_only_if_that_is_allowed() -> None:
    async with ScriptedEndpoint(answering(b"HTTP/1.1 204 No Content\r\n\r\n")) as service, client_of() as client:
        for authority in (where(service), f"[::ffff:127.0.0.1]:{service.port}", f"127.1:{service.port}"):
            assert await asked(client, request_to(authority, local=False)) is None
        assert service.requests == 0


async def test_a_silent_service_takes_a_bounded_number_of_requests_and_stops_no_other() -> None:
    limits = AuthLimits(deadline_seconds=20.0, at_once=3, waiting=2)
    answer = answering(b"HTTP/1.1 204 No Content\r\n\r\n")
    async with ScriptedEndpoint(silent) as hung, ScriptedEndpoint(answer) as other, client_of(limits) as client:
        waiting = [client.ask(request_to(where(hung)), lambda answer: None) for _ in range(9)]
        assert [each is not None for each in waiting] == [True] * 5 + [False] * 4
        await until(lambda: hung.requests == 3)
        assert await asked(client, request_to(where(other))) is not None
        for each in waiting:
            if each is not None:
                each.cancel()
        await until(lambda: not client.busy)
        assert hung.requests == 3
        assert client.ask(request_to(where(hung)), lambda answer: None) is not None


async def test_all_services_together_get_a_bounded_number() -> None:
    limits = AuthLimits(deadline_seconds=20.0, in_all=4)
    async with ScriptedEndpoint(silent) as first, ScriptedEndpoint(silent) as second, client_of(limits) as client:
        assert client.ask(request_to(where(first)), lambda answer: None) is not None
        assert client.ask(request_to(where(second)), lambda answer: None) is not None
        assert client.ask(request_to(where(second)), lambda answer: None) is None
        assert client.ask(request_to("third.test"), lambda answer: None) is None
        modest = request_to(where(first))._replace(tenant="modest")
        assert client.ask(modest, lambda answer: None) is not None


async def test_whoever_leaves_is_told_nothing_and_the_service_sees_the_end() -> None:
    left = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.rest()
        left.set()

    async with ScriptedEndpoint(script) as service, client_of() as client:
        waiting = client.ask(request_to(where(service)), lambda answer: None)
        await until(lambda: service.requests == 1)
        assert waiting is not None
        waiting.cancel()
        await left.wait()


async def test_an_answer_that_cannot_be_judged_counts_as_none() -> None:
    told: list[AuthAnswer | None] = []

    def tell(answer: AuthAnswer | None) -> None:
        told.append(answer)
        if answer is not None:
            raise RuntimeError("as a test wants it")

    async with ScriptedEndpoint(answering(b"HTTP/1.1 204 No Content\r\n\r\n")) as service, client_of() as client:
        client.ask(request_to(where(service)), tell)
        await until(lambda: len(told) == 2)
        assert told[1] is None


async def test_a_dead_service_of_one_tenant_silences_no_warning_of_another(caplog: pytest.LogCaptureFixture) -> None:
    with refusing() as port:
        async with client_of() as client:
            for tenant in ("greedy", "greedy", "modest"):
                assert await asked(client, request_to(f"127.0.0.1:{port}")._replace(tenant=tenant)) is None
    assert [("'greedy'" in line, "'modest'" in line) for line in caplog.messages] == [(True, False), (False, True)]


async def test_an_answer_that_came_while_the_loop_was_held_is_in_time() -> None:
    """No beat follows the first, so all that is longer than a beat is an absence."""
    loop, absences = asyncio.get_running_loop(), Absences()
    came = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        came.set()
        await visit.send(b"HTTP/1.1 204 No Content\r\n\r\n")
        stall(2 * HASTY.deadline_seconds)

    async with ScriptedEndpoint(script) as service, client_of(PATIENT) as warm:
        assert await asked(warm, request_to(where(service))) is not None  # what aiohttp needs is imported
    async with ScriptedEndpoint(script) as service, client_of(HASTY, absences) as client:
        absences.beat(loop.time(), 0.0)
        assert await asked(client, request_to(where(service))) == AuthAnswer(204, ())
        assert came.is_set()

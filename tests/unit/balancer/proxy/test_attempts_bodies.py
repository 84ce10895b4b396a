"""Retries and request bodies: an endpoint gets a body whole and to the byte, and no request runs twice that must not.

Whoever reads a chunked body from its middle takes data of the client's for framing, and its rest for another request.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.metrics.definitions import RETRIES
from balancer.model.policies import RoutePolicy
from balancer.proxy.bodies import KEPT_BODY_BYTES
from tests.fakes.clients import Response
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until
from tests.properties import examples
from tests.unit.balancer.http1.cuts import pieces
from tests.unit.balancer.proxy.standing import GET, OK, Standing, post, shop, standing

pytestmark = pytest.mark.large

CHUNKED_POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"
STOLEN = b"GET /stolen HTTP/1.1\r\nHost: shop.test\r\n\r\n"
DATA = b"0\r\n\r\n" + STOLEN  # ends a body wherever it is not read as data
SIZE_LINE = b"%x\r\n" % len(DATA)
BODY = SIZE_LINE + DATA + b"\r\n0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
GET_WITH_BODY = b"GET / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n\r\nnext"
CAREFUL = RoutePolicy(retry_on=("error", "timeout", "invalid_header", "http_503"))
EAGER = RoutePolicy(retry_on=("error", "timeout", "invalid_header", "http_503", "non_idempotent"))

Failing = Callable[[Visit], Awaitable[None]]


async def says_503(visit: Visit) -> None:
    await visit.send(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nsick")


async def says_nonsense(visit: Visit) -> None:
    await visit.send(b"nonsense\r\n\r\n")


async def closes(visit: Visit) -> None:
    await visit.close()


async def resets(visit: Visit) -> None:
    visit.reset()


def after_the_head(fails: Failing, when: asyncio.Event) -> Script:
    """A script that reads a request head, and later fails without having taken a byte of the body for its own."""

    async def script(visit: Visit) -> None:
        await visit.head()
        await when.wait()
        await fails(visit)
        await visit.rest()

    return script


async def until_body_begun(proxy: Standing) -> None:
    await until(lambda: any(client.stream.body_begun for client in proxy.clients))


@pytest.mark.parametrize(("fails", "status"), [(says_503, 503), (says_nonsense, 502), (closes, 502), (resets, 502)])
@pytest.mark.parametrize(
    ("sent", "rest"),
    [
        pytest.param(CHUNKED_POST + SIZE_LINE, BODY.removeprefix(SIZE_LINE), id="a size and no data"),
        pytest.param(CHUNKED_POST + SIZE_LINE[:1], BODY[1:], id="half a size"),
        pytest.param(CHUNKED_POST + BODY[:-10], BODY[-10:], id="some data"),
        pytest.param(CHUNKED_POST + BODY, STOLEN, id="a whole body"),
        pytest.param(post(b"x", length=len(DATA) + 1), DATA, id="some data of known length"),
        pytest.param(post(b"data"), STOLEN, id="a whole body of known length"),
    ],
)
async def test_a_post_that_an_endpoint_has_begun_to_get_is_seen_by_no_other(
    fails: Failing, status: int, sent: bytes, rest: bytes
) -> None:
    begun = asyncio.Event()
    async with (
        ScriptedEndpoint(after_the_head(fails, begun)) as one,
        ScriptedEndpoint(answering(OK), address="127.0.0.2") as two,
        standing(shop([one, two], policy=CAREFUL)) as proxy,
    ):
        async with proxy.client() as client:
            client.send(sent)
            await until_body_begun(proxy)
            await until(lambda: one.requests == 1)
            begun.set()
            answer = asyncio.ensure_future(client.response())
            await until(lambda: answer.done() or two.requests > 0)
            client.send(rest)
            await assert_ended(answer, status)
        assert two.requests == 0
        assert heads_written(one) == 1
        assert proxy.metric(RETRIES) == {}


def heads_written(endpoint: ScriptedEndpoint) -> int:
    """How many requests the proxy sent to an endpoint, whatever data of the client's looks like one."""
    return sum(visit.received.count(b"\r\nX-Forwarded-For: ") for visit in endpoint.visits)


async def assert_ended(answer: asyncio.Future[Response], status: int) -> None:
    async with asyncio.timeout(30):
        assert (await answer).status == status


async def body_of(visit: Visit, head: bytes) -> bytes:
    """The body of the request whose `head` was read, whichever way it is framed."""
    if length := re.search(rb"\r\nContent-Length: ([0-9]+)\r\n", head):
        return await visit.exactly(int(length[1]))
    assert b"\r\nTransfer-Encoding: chunked\r\n" in head
    body = b""
    while size := int(await visit.until(b"\r\n"), 16):
        body += await visit.exactly(size)
        assert await visit.exactly(2) == b"\r\n"
    assert await visit.exactly(2) == b"\r\n"
    return body


class Taking:
    """A script that answers each request once it has all of its body, which `bodies` holds."""

    def __init__(self, before: bytes = b"") -> None:
        self.bodies: list[bytes] = []
        self._before = before

    async def __call__(self, visit: Visit) -> None:
        while True:
            head = await visit.head()
            if self._before:
                await visit.send(self._before)
            self.bodies.append(await body_of(visit, head))
            await visit.send(OK)


@pytest.mark.parametrize("fails", [says_503, says_nonsense, closes, resets])
@pytest.mark.parametrize(
    ("sent", "rest", "body"),
    [
        pytest.param(CHUNKED_POST + SIZE_LINE, BODY.removeprefix(SIZE_LINE), DATA, id="a size and no data"),
        pytest.param(CHUNKED_POST + SIZE_LINE[:1], BODY[1:], DATA, id="half a size"),
        pytest.param(CHUNKED_POST + BODY[:-10], BODY[-10:], DATA, id="some data"),
        pytest.param(CHUNKED_POST + BODY, b"", DATA, id="a whole body"),
        pytest.param(post(b"x", length=len(DATA) + 1), DATA, b"x" + DATA, id="some data of known length"),
        pytest.param(post(b"data"), b"", b"data", id="a whole body of known length"),
    ],
)
@pytest.mark.parametrize(("method", "policy"), [(b"POST", EAGER), (b"PUT", CAREFUL)])
async def test_where_a_request_may_be_repeated_the_next_endpoint_gets_its_body_whole(
    *, fails: Failing, sent: bytes, rest: bytes, body: bytes, method: bytes, policy: RoutePolicy
) -> None:
    begun, taking = asyncio.Event(), Taking()
    async with (
        ScriptedEndpoint(after_the_head(fails, begun)) as one,
        ScriptedEndpoint(taking, address="127.0.0.2") as two,
        standing(shop([one, two], policy=policy)) as proxy,
        proxy.client() as client,
    ):
        client.send(sent.replace(b"POST", method))
        await until_body_begun(proxy)
        await until(lambda: one.requests == 1)
        begun.set()
        await until(lambda: heads_written(two) == 1)
        async with asyncio.timeout(10):
            assert (await client.ask(rest)).status == 200
            assert (heads_written(one), heads_written(two)) == (1, 1)
            proxy.publish(shop([two], policy=policy))
            assert (await client.ask(GET_WITH_BODY)).status == 200  # the connection goes on after the body's end
        assert taking.bodies == [body, b"next"]


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize(("size", "status"), [(KEPT_BODY_BYTES, 200), (KEPT_BODY_BYTES + 1, 502)])
async def test_a_body_over_the_bound_is_not_repeated(framing: str, size: int, status: int) -> None:
    taking = Taking()

    async def takes_and_closes(visit: Visit) -> None:
        await body_of(visit, await visit.head())

    body = bytes(size)
    request = b"PUT / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n%b" % (size, body)
    if framing == "chunked":
        request = CHUNKED_POST.replace(b"POST", b"PUT") + b"%x\r\n%b\r\n0\r\n\r\n" % (size, body)
    async with (
        ScriptedEndpoint(takes_and_closes) as one,
        ScriptedEndpoint(taking, address="127.0.0.2") as two,
        standing(shop([one, two])) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(request)).status == status
        assert taking.bodies == ([body] if status == 200 else [])
        assert (one.requests, two.requests) == (1, len(taking.bodies))


async def test_a_put_on_a_connection_that_turns_out_closed_goes_whole_to_a_fresh_one() -> None:
    begun, taking = asyncio.Event(), Taking()

    async def script(visit: Visit) -> None:
        if visit.number:
            return await taking(visit)
        await visit.head()
        await visit.send(OK)
        await visit.head()
        await begun.wait()

    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(shop([endpoint])) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(GET)).status == 200
        client.send(CHUNKED_POST.replace(b"POST", b"PUT") + SIZE_LINE)
        await until(lambda: endpoint.requests == 2)
        await until_body_begun(proxy)
        begun.set()
        assert (await client.ask(BODY.removeprefix(SIZE_LINE))).status == 200
        assert taking.bodies == [DATA]


async def test_a_client_that_waits_for_100_gets_one_although_two_endpoints_say_it() -> None:
    taking = Taking(before=CONTINUE)

    async def takes_and_closes(visit: Visit) -> None:
        head = await visit.head()
        await visit.send(CONTINUE)
        await body_of(visit, head)

    async with (
        ScriptedEndpoint(takes_and_closes) as one,
        ScriptedEndpoint(taking, address="127.0.0.2") as two,
        standing(shop([one, two])) as proxy,
        proxy.client() as client,
    ):
        client.send(b"PUT / HTTP/1.1\r\nHost: shop.test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert await client.head() == CONTINUE
        assert (await client.ask(b"data")).status == 200
        assert (one.requests, taking.bodies) == (1, [b"data"])


class Plan(NamedTuple):
    """How one endpoint fails: after so many bytes of the body."""

    after_bytes: int
    fails: Failing


@examples(40)
@given(
    method=st.sampled_from((b"POST", b"PUT")),
    policy=st.sampled_from((CAREFUL, EAGER)),
    body=st.binary(min_size=1, max_size=200) | st.just(STOLEN),
    chunked=st.booleans(),
    places=st.lists(st.integers(0, 300), max_size=4),
    plans=st.lists(
        st.builds(Plan, st.integers(0, 200), st.sampled_from((says_503, says_nonsense, closes, resets))), max_size=2
    ),
)
def test_however_endpoints_fail_there_is_one_answer_and_nothing_runs_twice_that_must_not(
    *, method: bytes, policy: RoutePolicy, body: bytes, chunked: bool, places: list[int], plans: list[Plan]
) -> None:
    framed = (
        b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        if chunked
        else b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    request = method + b" / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n" + framed
    played = asyncio.run(
        play(request, places, [Plan(min(each.after_bytes, len(body)), each.fails) for each in plans], policy)
    )
    may_repeat = method == b"PUT" or policy is EAGER
    expected_heads = len(plans) + 1 if may_repeat else 1
    assert played.heads == expected_heads
    assert played.bodies == ([body] if may_repeat or not plans else [])
    assert len(re.findall(rb"HTTP/1\.1 [2-5]", played.answer)) == 1
    assert (b"HTTP/1.1 200 OK" in played.answer) == (played.bodies == [body])


class Played(NamedTuple):
    """How many requests were sent to endpoints, which bodies came whole, and all that the client got."""

    heads: int
    bodies: list[bytes]
    answer: bytes


async def play(request: bytes, places: list[int], plans: list[Plan], policy: RoutePolicy) -> Played:
    """Play `request`, cut at `places`, to endpoints that fail as planned, and a last one that does not."""
    taking = Taking()
    async with AsyncExitStack() as stack:
        scripts: list[Script] = [*map(failing, plans), taking]
        endpoints = [
            await stack.enter_async_context(ScriptedEndpoint(script, address=f"127.0.0.{number}"))
            for number, script in enumerate(scripts, start=1)
        ]
        proxy = await stack.enter_async_context(standing(shop(endpoints, policy=policy)))
        client = await stack.enter_async_context(proxy.client())
        for piece in pieces(request, places):
            client.send(piece)
            for _ in range(3):
                await asyncio.sleep(0)
        async with asyncio.timeout(10):
            answer = await client.rest()
        return Played(sum(map(heads_written, endpoints)), taking.bodies, answer)


def failing(plan: Plan) -> Script:
    async def script(visit: Visit) -> None:
        await visit.head()
        while len(visit.received.partition(b"\r\n\r\n")[2]) < plan.after_bytes:
            await visit.some()
        await plan.fails(visit)

    return script


async def test_before_its_body_has_begun_a_request_may_go_on_and_the_body_comes_whole() -> None:
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.exactly(len(BODY))
        await visit.send(OK)

    go_on.set()
    async with (
        ScriptedEndpoint(after_the_head(closes, go_on)) as one,
        ScriptedEndpoint(script, address="127.0.0.2") as two,
        standing(shop([one, two], policy=EAGER)) as proxy,
        proxy.client() as client,
    ):
        client.send(CHUNKED_POST)
        await until(lambda: two.requests == 1)
        assert (await client.ask(BODY)).status == 200
        assert (one.requests, two.visits[0].received.partition(b"\r\n\r\n")[2]) == (1, BODY)

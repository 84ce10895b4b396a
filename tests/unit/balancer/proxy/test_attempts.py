"""Attempts on real sockets: connections are reused, failures go on to others, and nothing unsafe runs twice."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from balancer.metrics.definitions import EJECTIONS, ERRORS, RETRIES, ZONE_DECISIONS
from balancer.model.endpoints import LoadBalancing
from balancer.model.policies import RoutePolicy
from tests import builders
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until
from tests.fakes.stalls import stall
from tests.unit.balancer.proxy.standing import GET, OK, Standing, post, refusing, shop, standing


def says(text: bytes) -> Script:
    """A script that answers each request, with or without a body of known length, with `text`."""

    async def script(visit: Visit) -> None:
        while True:
            head = await visit.head()
            if b"Content-Length: " in head:
                await visit.exactly(int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]))
            await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text))

    return script


async def closes_unanswered(visit: Visit) -> None:
    """Reads a request head and closes."""
    await visit.head()


async def closes_after_one(visit: Visit) -> None:
    """Answers one request and closes on the next, as an endpoint does whose keep-alive time is over."""
    await visit.head()
    await visit.send(OK)
    await visit.head()


def second(script: Script) -> ScriptedEndpoint:
    """An endpoint that is tried after one on 127.0.0.1."""
    return ScriptedEndpoint(script, address="127.0.0.2")


async def test_many_requests_of_many_clients_share_one_endpoint_connection() -> None:
    async with ScriptedEndpoint(says(b"hi")) as endpoint, standing(shop([endpoint])) as proxy:
        for _ in range(3):
            async with proxy.client() as client:
                for request in (GET, post(b"body"), GET, GET):
                    assert (await client.ask(request)).body == b"hi"
        assert endpoint.requests == 12
        assert len(endpoint.visits) == 1


async def test_requests_go_round_the_endpoints() -> None:
    async with (
        ScriptedEndpoint(says(b"1")) as one,
        second(says(b"2")) as two,
        standing(shop([one, two])) as proxy,
        proxy.client() as client,
    ):
        assert [(await client.ask(GET)).body for _ in range(4)] == [b"1", b"2", b"1", b"2"]


@pytest.mark.parametrize("request_bytes", [GET, post(b"body")])
async def test_a_refused_connection_lets_any_method_try_another_endpoint(request_bytes: bytes) -> None:
    with refusing() as dead:
        async with second(says(b"alive")) as endpoint, standing(shop([dead, endpoint])) as proxy:
            async with proxy.client() as client:
                assert (await client.ask(request_bytes)).body == b"alive"
                await proxy.idle()
            assert proxy.metric(RETRIES) == {("shop", "cart", "connect_refused"): 1}
            (line,) = proxy.log()
            assert line["endpoints"] == [f"127.0.0.1:{dead.port}", f"127.0.0.2:{endpoint.port}"]
            assert line["status"] == 200
            assert [attempt["status"] for attempt in line["failed_attempts"]] == [None]


async def test_when_every_endpoint_refuses_it_is_a_502_and_the_client_may_go_on() -> None:
    with refusing() as one, refusing("127.0.0.2") as two:
        async with standing(shop([one, two])) as proxy, proxy.client() as client:
            for _ in range(2):
                assert (await client.ask(GET)).status == 502
            await proxy.idle()
            assert proxy.metric(RETRIES) == {("shop", "cart", "connect_refused"): 2}


async def test_no_more_endpoints_are_tried_than_allowed() -> None:
    with refusing() as one, refusing("127.0.0.2") as two:
        async with ScriptedEndpoint(says(b"3"), address="127.0.0.3") as three:
            model = shop([one, two, three], policy=RoutePolicy(tries=2))
            async with standing(model) as proxy, proxy.client() as client:
                assert (await client.ask(GET)).status == 502
                assert three.requests == 0


async def test_without_a_limit_every_endpoint_is_tried_once() -> None:
    with refusing() as one, refusing("127.0.0.2") as two, refusing("127.0.0.3") as three:
        async with ScriptedEndpoint(says(b"4"), address="127.0.0.4") as four:
            model = shop([one, two, three, four], policy=RoutePolicy(tries=0))
            async with standing(model) as proxy, proxy.client() as client:
                assert (await client.ask(GET)).body == b"4"


async def test_a_get_that_was_not_answered_goes_to_another_endpoint_and_never_twice_to_one() -> None:
    async with (
        ScriptedEndpoint(closes_unanswered) as one,
        second(closes_unanswered) as two,
        standing(shop([one, two])) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(GET)).status == 502
        assert (one.requests, two.requests) == (1, 1)


async def test_an_answer_in_time_of_another_endpoint_helps_a_get_out() -> None:
    async def silent(visit: Visit) -> None:
        await visit.rest()

    policy = RoutePolicy(read_timeout_seconds=0.1)
    async with (
        ScriptedEndpoint(silent) as one,
        second(says(b"2")) as two,
        standing(shop([one, two], policy=policy)) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(GET)).body == b"2"


@pytest.mark.large
async def test_what_the_own_loop_missed_is_no_latency_of_an_endpoint() -> None:
    async def holds_the_loop(visit: Visit) -> None:
        await visit.head()
        stall(1.0)
        await visit.send(OK)

    async with ScriptedEndpoint(holds_the_loop) as one:
        model = shop([one])
        backend = msgspec.structs.replace(model.backends[0], load_balancing=LoadBalancing.EWMA)
        async with (
            standing(msgspec.structs.replace(model, backends=(backend,))) as proxy,
            proxy.client() as client,
        ):
            assert (await client.ask(GET)).status == 200
        (runtime,) = proxy.live.view.backends.values()
        (member,) = runtime.members.values()
        assert member.latency is not None
        assert member.latency.at(0.0) < 0.5


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(post(), id="POST without a body"),
        pytest.param(post(b"body"), id="POST"),
        pytest.param(b"PATCH / HTTP/1.1\r\nHost: shop.test\r\n\r\n", id="PATCH"),
        pytest.param(b"FOOBAR / HTTP/1.1\r\nHost: shop.test\r\n\r\n", id="unknown method"),
    ],
)
async def test_what_may_have_run_is_never_sent_again(request_bytes: bytes) -> None:
    async with (
        ScriptedEndpoint(closes_unanswered) as one,
        second(says(b"2")) as two,
        standing(shop([one, two])) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(request_bytes)).status == 502
        assert one.requests + two.requests == 1


async def test_a_5xx_of_an_endpoint_is_its_answer() -> None:
    sick = answering(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nsick")
    async with (
        ScriptedEndpoint(sick) as one,
        second(says(b"2")) as two,
        standing(shop([one, two])) as proxy,
        proxy.client() as client,
    ):
        response = await client.ask(GET)
        assert (response.status, response.body) == (503, b"sick")
        assert two.requests == 0


SICK = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nsick"


async def test_a_status_that_may_be_retried_is_passed_over_while_another_endpoint_is_left() -> None:
    policy = RoutePolicy(retry_on=("error", "http_503"))
    async with (
        ScriptedEndpoint(answering(SICK)) as one,
        second(says(b"2")) as two,
        standing(shop([one, two], policy=policy)) as proxy,
    ):
        async with proxy.client() as client:
            response = await client.ask(GET)
            assert (response.status, response.body) == (200, b"2")
            posted = await client.ask(post())
            assert (posted.status, posted.body) == (503, b"sick")
            await proxy.idle()
        assert proxy.metric(RETRIES) == {("shop", "cart", "passed_over"): 1}
        first, _ = proxy.log()
        assert [attempt["status"] for attempt in first["failed_attempts"]] == [503]


async def test_the_last_status_is_the_answer_when_every_endpoint_gives_one() -> None:
    policy = RoutePolicy(retry_on=("http_503",))
    async with (
        ScriptedEndpoint(answering(SICK)) as one,
        second(answering(SICK)) as two,
        standing(shop([one, two], policy=policy)) as proxy,
        proxy.client() as client,
    ):
        response = await client.ask(GET)
        assert (response.status, response.body) == (503, b"sick")
        assert (one.requests, two.requests) == (1, 1)


async def test_after_its_time_no_other_endpoint_is_tried() -> None:
    async def silent(visit: Visit) -> None:
        await visit.rest()

    policy = RoutePolicy(read_timeout_seconds=0.1, retry_seconds=0.05)
    async with (
        ScriptedEndpoint(silent) as one,
        second(says(b"2")) as two,
        standing(shop([one, two], policy=policy)) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(GET)).status == 504
        assert two.requests == 0


async def test_an_endpoint_that_fails_in_a_row_is_ejected_counted_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with refusing() as dead:
        async with second(says(b"2")) as endpoint, standing(shop([dead, endpoint])) as proxy, proxy.client() as client:
            for _ in range(20):
                assert (await client.ask(GET)).body == b"2"
            await proxy.idle()
            (line,) = [message for message in caplog.messages if "is ejected" in message]
            assert line.startswith(f"endpoint 127.0.0.1:{dead.port} (zone-a) of shop/cart:80 is ejected for 10 s: ")
            assert line.endswith("last with connect_refused")
            assert proxy.metric(EJECTIONS) == {("shop", "cart"): 1}
            assert proxy.metric(RETRIES) == {("shop", "cart", "connect_refused"): 5}


@pytest.mark.parametrize("limit", ["max_concurrency", "max_concurrency_per_endpoint"])
async def test_over_a_limit_it_is_a_503_at_once_and_within_it_nothing_has_changed(limit: str) -> None:
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        while True:
            await visit.head()
            await go_on.wait()
            await visit.send(OK)

    async with ScriptedEndpoint(script) as endpoint:
        model = shop([endpoint])
        (backend,) = model.backends
        model = msgspec.structs.replace(model, backends=(msgspec.structs.replace(backend, **{limit: 1}),))
        async with standing(model) as proxy, proxy.client() as client, proxy.client() as other:
            client.send(GET)
            await until(lambda: endpoint.requests == 1)
            refused = await other.ask(GET)
            assert (refused.status, refused.fields[b"retry-after"]) == (503, b"1")
            go_on.set()
            assert (await client.response()).status == 200
            await proxy.idle()
            assert proxy.metric(ERRORS) == {("overloaded",): 1}
            assert (await other.ask(GET)).status == 200


async def test_a_stale_connection_is_no_attempt_and_a_get_goes_to_the_same_endpoint_on_a_fresh_one() -> None:
    async with ScriptedEndpoint(closes_after_one) as endpoint, standing(shop([endpoint])) as proxy:
        async with proxy.client() as client:
            for _ in range(4):
                assert (await client.ask(GET)).body == b"hello"
            await proxy.idle()
        assert len(endpoint.visits) == 4
        assert proxy.metric(RETRIES) == {}
        assert all(len(line["endpoints"]) == 1 for line in proxy.log())


async def test_a_stale_connection_gets_one_fresh_one_only() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        if visit.number == 0:
            await visit.send(OK)
            await visit.head()

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        assert (await client.ask(GET)).status == 200
        assert (await client.ask(GET)).status == 502
        assert endpoint.requests == 3


async def test_a_post_on_a_connection_that_turns_out_stale_is_not_sent_again() -> None:
    async with (
        ScriptedEndpoint(closes_after_one) as endpoint,
        standing(shop([endpoint])) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(GET)).status == 200
        assert (await client.ask(post())).status == 502
        assert endpoint.requests == 2


async def test_a_post_takes_no_connection_that_has_been_idle_for_long_and_a_get_does() -> None:
    async with ScriptedEndpoint(says(b"hi")) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        await client.ask(GET)
        await proxy.idle()
        grow_old(proxy)
        await client.ask(GET)
        assert len(endpoint.visits) == 1
        await proxy.idle()
        grow_old(proxy)
        await client.ask(post())
        assert len(endpoint.visits) == 2


def grow_old(proxy: Standing) -> None:
    """Make every idle connection as idle as half a second of silence would."""
    for connection in proxy.pools.open:
        connection.idle_since -= 0.51


async def test_bytes_on_an_idle_connection_discard_it() -> None:
    poison = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(OK)
        if visit.number == 0:
            await poison.wait()
            await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
        await visit.rest()

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        assert (await client.ask(GET)).body == b"hello"
        poison.set()
        await until(lambda: not proxy.pools.open)
        assert (await client.ask(GET)).body == b"hello"
        assert len(endpoint.visits) == 2


@pytest.mark.parametrize(("backend", "retry_after"), [("shop/cart:80", b"1"), (None, None), ("shop/unknown:80", None)])
async def test_without_an_endpoint_or_a_backend_it_is_a_503(backend: str | None, retry_after: bytes | None) -> None:
    model = shop([], hosts=[builders.host("shop.test", builders.route(to=backend))])
    async with standing(model) as proxy, proxy.client() as client:
        for _ in range(2):
            response = await client.ask(GET)
            assert (response.status, response.fields.get(b"retry-after")) == (503, retry_after)


async def test_a_request_keeps_the_view_it_started_with() -> None:
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await go_on.wait()
        await visit.send(OK)
        await visit.rest()

    async with (
        ScriptedEndpoint(script) as old,
        second(says(b"new")) as new,
        standing(shop([old])) as proxy,
        proxy.client() as client,
    ):
        client.send(GET)
        await until(lambda: old.requests == 1)
        proxy.publish(shop([new]))
        go_on.set()
        assert (await client.response()).body == b"hello"
        assert (await client.ask(GET)).body == b"new"
        await until(lambda: len(proxy.pools.open) == 1)


async def test_each_attempt_is_a_decision_of_the_request_that_answers() -> None:
    async with ScriptedEndpoint(says(b"hi")) as endpoint, standing(shop([endpoint])) as proxy:
        async with proxy.client() as client:
            await client.ask(GET)
            await proxy.idle()
        assert proxy.metric(ZONE_DECISIONS) == {("shop", "cart", "off"): 1}

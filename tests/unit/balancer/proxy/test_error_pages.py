"""Error pages over real sockets: what the error service is asked, and what clients get if it does not answer."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.matching.stand_ins import RouteStandIns
from balancer.metrics.definitions import ERRORS
from balancer.model.edits import SetFields
from balancer.model.endpoints import BackendKey, Endpoint
from balancer.model.external_auth import ExternalAuth
from balancer.model.gates import AnyOf, BasicAuth, SourceRanges
from balancer.model.policies import RoutePolicy
from balancer.model.publication import RoutingModel
from balancer.model.routes import Route
from balancer.model.settings import ProxySettings
from balancer.model.stand_ins import ErrorPages, StandIns
from balancer.proxy.bodies import KEPT_BODY_BYTES
from balancer.proxy.error_pages import has_page
from tests import builders
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.unit.balancer.proxy.standing import GET, get, post, standing

pytestmark = pytest.mark.large

PAGE = b"HTTP/1.1 200 OK\r\nX-Page: 1\r\nContent-Length: 5\r\n\r\nsorry"
MISSING = b"HTTP/1.1 404 Not Found\r\nX-Own: 1\r\nContent-Length: 4\r\n\r\nnope"
UNAVAILABLE = MISSING.replace(b"404 Not Found", b"503 Service Unavailable")
ERR = BackendKey("shop/err:80")
WITH_PAGES = StandIns(ErrorPages((403, 404, 413, 502, 503), ERR), service_port="http")


def paged(
    web: Iterable[ScriptedEndpoint | Endpoint],
    err: Iterable[ScriptedEndpoint | Endpoint],
    *,
    stand_ins: StandIns = WITH_PAGES,
    **changes: object,
) -> RoutingModel:
    """`shop.test`, whose Service is `web`, with error pages of `err`."""
    backends = [builders.backend(key, map(_member, of)) for key, of in (("shop/web:80", web), ("shop/err:80", err))]
    route: Route = msgspec.structs.replace(builders.route("/", "shop/web:80"), stand_ins=stand_ins, **changes)
    return builders.model(*backends, hosts=[builders.host("shop.test", route)])


def _member(item: ScriptedEndpoint | Endpoint) -> Endpoint:
    return item if isinstance(item, Endpoint) else builders.endpoint(item.address, port=item.port)


def fields_of(head: bytes) -> dict[bytes, bytes]:
    """The fields of a request head; a name that comes twice is joined by `|`."""
    fields: dict[bytes, bytes] = {}
    for line in head[:-4].split(b"\r\n")[1:]:
        name, _, value = line.partition(b": ")
        fields[name.lower()] = fields[name.lower()] + b"|" + value if name.lower() in fields else value
    return fields


def with_body(response: bytes) -> Script:
    """A script that reads one request with its body before it answers."""

    async def script(visit: Visit) -> None:
        while True:
            head = await visit.head()
            if length := re.search(rb"Content-Length: (\d+)", head):
                await visit.exactly(int(length[1]))
            elif b"chunked" in head:
                await visit.until(b"0\r\n\r\n")
            await visit.send(response)

    return script


async def test_the_error_service_gets_the_request_at_the_root_and_is_told_why() -> None:
    async with (
        ScriptedEndpoint(answering(MISSING)) as web,
        ScriptedEndpoint(answering(PAGE)) as err,
        standing(paged([web], [err])) as proxy,
        proxy.client() as client,
    ):
        asked = get(b"/a/b?c=d", b"Accept: text/css", b"X-Code: 200", b"X-Service-Name: evil", b"X-Request-ID: rid")
        for _ in range(2):
            answer = await client.ask(asked)
            assert (answer.status, answer.body) == (200, b"sorry")
            assert b"x-own" not in answer.fields
        head = err.visits[0].received.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        assert head.startswith(b"GET /?c=d HTTP/1.1\r\nHost: shop.test\r\n")
        fields = fields_of(head)
        told = {name: fields.get(name) for name in (b"x-code", b"x-format", b"x-original-uri", b"x-request-id")}
        assert told == {
            b"x-code": b"404",
            b"x-format": b"text/css",
            b"x-original-uri": b"/a/b?c=d",
            b"x-request-id": b"rid",
        }
        names = (b"x-namespace", b"x-ingress-name", b"x-service-name", b"x-service-port")
        assert [fields[name] for name in names] == [b"shop", b"web", b"web", b"http"]
        assert len(web.visits) == len(err.visits) == 1  # connections go on
        await proxy.idle()
        first, _ = proxy.log()
        assert (first["status"], first["service"], len(first["endpoints"])) == (200, "web", 2)
        assert [attempt["status"] for attempt in first["failed_attempts"]] == [404]
        assert "error" not in first


async def test_another_status_is_left_alone() -> None:
    async with (
        ScriptedEndpoint(answering(MISSING.replace(b"404", b"410"))) as web,
        ScriptedEndpoint(answering(PAGE)) as err,
        standing(paged([web], [err])) as proxy,
        proxy.client() as client,
    ):
        answer = await client.ask(GET)
        assert (answer.status, answer.body) == (410, b"nope")
        assert not err.visits


async def test_the_page_keeps_the_method_and_the_body() -> None:
    async with (
        ScriptedEndpoint(with_body(MISSING)) as web,
        ScriptedEndpoint(with_body(PAGE)) as err,
        standing(paged([web], [err])) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(post(b"hello"))).body == b"sorry"
        chunked = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        assert (await client.ask(chunked)).body == b"sorry"
        first, second = re.split(rb"(?=POST )", err.visits[0].received)[1:]
        assert first.endswith(b"\r\n\r\nhello")
        assert second.endswith(b"\r\n\r\n5\r\nhello\r\n0\r\n\r\n")


@pytest.mark.parametrize("has_endpoints", [True, False])
async def test_a_body_that_was_received_first_goes_to_the_page_whatever_its_length(has_endpoints: bool) -> None:
    body = b"x" * (KEPT_BODY_BYTES + 1)
    async with ScriptedEndpoint(with_body(MISSING)) as web, ScriptedEndpoint(with_body(PAGE)) as err:
        model = paged([web] if has_endpoints else [], [err], policy=RoutePolicy(spools_bodies=True))
        async with standing(model) as proxy, proxy.client() as client:
            assert (await client.ask(post(body))).body == b"sorry"
            assert err.visits[0].received.endswith(b"\r\n\r\n" + body)
            assert (await client.ask(GET)).body == b"sorry"


async def test_a_body_that_is_not_kept_is_left_out() -> None:
    body = b"x" * (KEPT_BODY_BYTES + 1)
    async with (
        ScriptedEndpoint(with_body(MISSING)) as web,
        ScriptedEndpoint(with_body(PAGE)) as err,
        standing(paged([web], [err])) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(post(body))).body == b"sorry"
        assert fields_of(err.visits[0].received)[b"content-length"] == b"0"
        assert (await client.ask(GET)).body == b"sorry"


async def test_a_page_for_an_answer_of_the_proxy_itself_gets_the_body_from_the_client() -> None:
    async with (
        ScriptedEndpoint(with_body(PAGE)) as err,
        standing(paged([], [err])) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(post(b"hello"))).body == b"sorry"
        received = err.visits[0].received
        assert fields_of(received.partition(b"hello")[0])[b"x-code"] == b"503"
        assert received.endswith(b"\r\n\r\nhello")
        await proxy.idle()
        assert proxy.metric(ERRORS) == {(ErrorKind.NO_ENDPOINT.value,): 1.0}
        (line,) = proxy.log()
        assert (line["status"], line["error"]) == (200, "no_endpoint")


async def test_a_refusal_at_a_gate_has_a_page() -> None:
    gates = (SourceRanges(allowed=("10.0.0.0/8",)),)
    instead = StandIns(ErrorPages((403,), ERR), without_endpoints=ERR)
    async with ScriptedEndpoint(answering(MISSING)) as web, ScriptedEndpoint(with_body(PAGE)) as err:
        models = (paged([web], [err], gates=gates), paged([], [err], gates=gates, stand_ins=instead))
        for place, model in enumerate(models):
            async with standing(model) as proxy, proxy.client() as client:
                assert (await client.ask(GET)).body == b"sorry"
                assert fields_of(err.visits[place].received)[b"x-code"] == b"403"
        assert not web.visits


async def test_a_body_that_is_too_long_does_not_reach_the_error_service() -> None:
    async with (
        ScriptedEndpoint(answering(MISSING)) as web,
        ScriptedEndpoint(with_body(PAGE)) as err,
        standing(paged([web], [err], policy=RoutePolicy(max_body_bytes=3))) as proxy,
        proxy.client() as client,
    ):
        answer = await client.ask(post(b"hello"))
        assert (answer.body, answer.fields[b"connection"]) == (b"sorry", b"close")
        fields = fields_of(err.visits[0].received)
        assert (fields[b"x-code"], fields[b"content-length"]) == (b"413", b"0")


async def test_head_gets_the_head_of_the_page() -> None:
    async with (
        ScriptedEndpoint(answering(MISSING.partition(b"nope")[0])) as web,
        ScriptedEndpoint(answering(PAGE.partition(b"sorry")[0])) as err,
        standing(paged([web], [err])) as proxy,
        proxy.client() as client,
    ):
        answer = await client.ask(GET.replace(b"GET", b"HEAD"), bodiless=True)
        assert (answer.status, answer.fields[b"content-length"]) == (200, b"5")
        assert err.visits[0].received.startswith(b"HEAD / ")


@pytest.mark.parametrize("reply", [b"", b"nonsense\r\n\r\n"], ids=["closed", "invalid"])
async def test_without_an_answer_of_the_error_service_the_status_is_that_of_the_error(reply: bytes) -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(reply)

    async with (
        ScriptedEndpoint(answering(MISSING)) as web,
        ScriptedEndpoint(script) as err,
        standing(paged([web], [err])) as proxy,
        proxy.client() as client,
    ):
        answer = await client.ask(GET)
        assert answer.status == 404
        assert b"404 Not Found" in answer.body
        assert b"x-own" not in answer.fields


async def test_without_an_error_service_clients_get_a_page_of_the_proxy() -> None:
    no_service = StandIns(ErrorPages((404, 503)))
    for stand_ins in (no_service, WITH_PAGES):  # the Service of the second has no endpoints
        async with (
            ScriptedEndpoint(answering(UNAVAILABLE)) as web,
            standing(paged([web], [], stand_ins=stand_ins)) as proxy,
            proxy.client() as client,
        ):
            answer = await client.ask(GET)
            assert answer.status == 503
            assert b"503 Service Unavailable" in answer.body


async def test_an_error_page_that_is_an_error_itself_is_passed_on() -> None:
    async with (
        ScriptedEndpoint(answering(MISSING)) as web,
        ScriptedEndpoint(answering(UNAVAILABLE)) as err,
        standing(paged([web], [err])) as proxy,
        proxy.client() as client,
    ):
        answer = await client.ask(GET)
        assert (answer.status, answer.body) == (503, b"nope")
        assert len(err.visits) == 1


async def test_endpoints_keep_their_responses_where_only_answers_of_the_proxy_have_pages() -> None:
    own_only = StandIns(ErrorPages((404, 503), ERR, intercepts=False))
    async with (
        ScriptedEndpoint(answering(MISSING)) as web,
        ScriptedEndpoint(answering(PAGE)) as err,
        standing(paged([web], [err], stand_ins=own_only)) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(GET)).status == 404
        proxy.publish(paged([], [err], stand_ins=own_only))
        assert (await client.ask(GET)).body == b"sorry"


async def test_another_endpoint_is_tried_before_a_page_is_shown() -> None:
    retrying = RoutePolicy(retry_on=("error", "http_503"))
    async with (
        ScriptedEndpoint(answering(UNAVAILABLE)) as bad,
        ScriptedEndpoint(answering(PAGE), address="127.0.0.2") as good,
        ScriptedEndpoint(answering(MISSING)) as err,
        standing(paged([bad, good], [err], policy=retrying)) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(GET)).body == b"sorry"
        assert not err.visits


async def test_the_responses_of_pages_are_edited_as_those_of_the_route() -> None:
    rules = (SetFields((("X-Added", "1"),)),)
    async with (
        ScriptedEndpoint(answering(MISSING)) as web,
        ScriptedEndpoint(answering(PAGE)) as err,
        standing(paged([web], [err], response_rules=rules)) as proxy,
        proxy.client() as client,
    ):
        answer = await client.ask(GET)
        assert (answer.fields[b"x-page"], answer.fields[b"x-added"]) == (b"1", b"1")


async def test_a_stand_in_serves_while_there_are_no_endpoints() -> None:
    instead = StandIns(without_endpoints=ERR, service_port="80")
    async with (
        ScriptedEndpoint(answering(MISSING)) as web,
        ScriptedEndpoint(answering(PAGE)) as err,
        standing(paged([], [err], stand_ins=instead)) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(get(b"/a?b=c", b"X-Original-URI: /evil"))).body == b"sorry"
        head = err.visits[0].received
        assert head.startswith(b"GET /a?b=c HTTP/1.1\r\n")
        fields = fields_of(head)
        assert (fields[b"x-code"], fields[b"x-service-name"]) == (b"503", b"web")
        assert b"x-original-uri" not in fields
        proxy.publish(paged([web], [err], stand_ins=instead))
        assert (await client.ask(GET)).status == 404
        proxy.publish(paged([], [], stand_ins=instead))
        assert (await client.ask(GET)).status == 503


async def test_nothing_of_a_request_breaks_the_head_that_the_error_service_gets() -> None:
    """Line breaks in a target are refused, and percent-encoded ones stay encoded."""
    async with (
        ScriptedEndpoint(answering(MISSING)) as web,
        ScriptedEndpoint(answering(PAGE)) as err,
        standing(paged([web], [err])) as proxy,
    ):
        async with proxy.client() as client:
            await client.ask(get(b"/%0d%0aX-Evil:%201?%0d%0aX-Evil:1", b"Accept: a\tb"))
        async with proxy.client() as client:
            assert (await client.ask(b"GET /a\nX-Evil: 1 HTTP/1.1\r\nHost: shop.test\r\n\r\n")).status == 400
        assert len(err.visits) == 1
        assert b"x-evil" not in fields_of(err.visits[0].received)


def test_some_errors_have_no_page() -> None:
    stand_ins = RouteStandIns(
        msgspec.structs.replace(builders.route(), stand_ins=StandIns(ErrorPages((400, 403, 503))))
    )
    assert has_page(stand_ins, ErrorKind.SOURCE_DENIED, 403)
    assert not has_page(stand_ins, ErrorKind.PATH_CLOSED, 503)
    assert not has_page(stand_ins, ErrorKind.BAD_REQUEST, 400)
    assert not has_page(stand_ins, ErrorKind.OVERLOADED, 502)
    assert not has_page(None, ErrorKind.SOURCE_DENIED, 403)


async def test_the_error_service_gets_no_password_and_no_field_that_an_auth_service_would_set() -> None:
    signed_in = AnyOf((ExternalAuth("http://auth.test/", response_fields=("X-User",)), BasicAuth("users")))
    async with ScriptedEndpoint(answering(MISSING)) as web, ScriptedEndpoint(answering(PAGE)) as err:
        pages = StandIns(ErrorPages((500,), ERR))
        model = paged([web], [err], stand_ins=pages, gates=(signed_in,))
        model = msgspec.structs.replace(model, proxy=ProxySettings(underscores_in_headers=True))
        async with standing(model) as proxy, proxy.client() as client:
            forged = (b"X-User: root", b"X_User: root", b"X_Code: 200", b"Connection: X-Code")
            assert (await client.ask(get(b"/", b"Authorization: Basic YTpi", *forged))).status == 200
        fields = fields_of(err.visits[0].received)
        assert fields[b"x-code"] == b"500"
        assert not fields.keys() & {b"authorization", b"x-user", b"x_user", b"x_code"}
        assert not web.visits

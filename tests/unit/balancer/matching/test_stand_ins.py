"""Stand-ins of a route: which responses they replace, and what their backends are asked."""

from __future__ import annotations

import msgspec
import pytest

from balancer.http.origin import Origin
from balancer.http.streams import Outgoing
from balancer.matching.stand_ins import RouteStandIns, stand_ins_of
from balancer.model.endpoints import BackendKey
from balancer.model.entry_points import HTTP
from balancer.model.policies import Affinity
from balancer.model.stand_ins import ErrorPages, StandIns
from tests import builders
from tests.matches import destination
from tests.questions import question_of

ERR = BackendKey("shop/err:80")


def made(stand_ins: StandIns) -> RouteStandIns:
    route = msgspec.structs.replace(builders.route(affinity=Affinity(), hash_by="$host"), stand_ins=stand_ins)
    found = stand_ins_of(route)
    assert found is not None
    return found


def outgoing(url: str, *fields: str) -> Outgoing:
    return Outgoing(question_of(url, fields).request, Origin(peer="192.0.2.1", entry_point=HTTP), b"id", b"vhost")


def test_a_route_without_stand_ins_has_none() -> None:
    assert stand_ins_of(builders.route()) is None


@pytest.mark.parametrize(("intercepts", "intercepted"), [(True, [404, 503]), (False, [])])
def test_statuses_of_the_proxy_and_of_endpoints(intercepts: bool, intercepted: list[int]) -> None:
    stand_ins = made(StandIns(ErrorPages((404, 503), ERR, intercepts)))
    assert (sorted(stand_ins.statuses), sorted(stand_ins.intercepted)) == ([404, 503], intercepted)
    assert stand_ins.without_endpoints is None


def test_a_stand_in_chooses_its_endpoints_itself() -> None:
    stand_ins = made(StandIns(ErrorPages((404,), ERR), without_endpoints=ERR))
    for to in (stand_ins.page, stand_ins.without_endpoints):
        assert to is not None
        assert (to.backend, to.is_held) == (ERR, False)
    assert made(StandIns(ErrorPages((404,)))).page is None


@pytest.mark.parametrize(
    ("url", "target"), [("http://a.test/x/y", b"/"), ("http://a.test/x?b=/c", b"/?b=/c"), ("http://a.test/x?", b"/?")]
)
def test_a_page_is_asked_for_at_the_root_with_the_query(url: str, target: bytes) -> None:
    asked = made(StandIns(ErrorPages((404,), ERR))).ask_for_page(404, outgoing(url), with_body=True)
    assert asked.request.target == target
    assert (asked.host, asked.request_id) == (None, b"id")


def test_a_page_without_a_body_waits_for_none() -> None:
    given = outgoing("http://a.test/")
    given.request = msgspec.structs.replace(given.request, body_bytes=None, expects_continue=True, upgrade=b"websocket")
    stand_ins = made(StandIns(ErrorPages((404,), ERR)))
    bare = stand_ins.ask_for_page(404, given, with_body=False).request
    assert (bare.body_bytes, bare.expects_continue, bare.upgrade) == (0, False, b"")
    whole = stand_ins.ask_for_page(404, given, with_body=True).request
    assert (whole.body_bytes, whole.expects_continue, whole.upgrade) == (None, True, b"")


def test_the_route_itself_is_told_nothing() -> None:
    given = outgoing("http://a.test/x")
    assert made(StandIns(ErrorPages((404,), ERR), ERR)).prepare(given, destination(builders.route())) == {404}
    assert (given.added, given.removed) == ((), frozenset())


def test_what_a_stand_in_is_told_cannot_come_from_the_client() -> None:
    stand_ins = made(StandIns(ErrorPages((404,), ERR), ERR, service_port="http"))
    given = outgoing("http://a.test/x", "Accept: text/css")
    facts = (
        (b"X-Format", b"text/css"),
        (b"X-Namespace", b"shop"),
        (b"X-Ingress-Name", b"web"),
        (b"X-Service-Name", b"cart"),
        (b"X-Service-Port", b"http"),
    )
    page = stand_ins.ask_for_page(404, given, with_body=True)
    assert page.added == ((b"X-Code", b"404"), *facts, (b"X-Original-URI", b"/x"))
    assert stand_ins.without_endpoints is not None
    assert stand_ins.prepare(given, stand_ins.without_endpoints) == frozenset()
    assert given.added == ((b"X-Code", b"503"), *facts)
    assert page.removed == given.removed >= {b"x-code", b"x-original-uri", b"x-format", b"x-service-port"}


@pytest.mark.parametrize(("having", "serves"), [((), False), (("err",), True), (("cart", "err"), False)])
def test_a_stand_in_serves_only_while_it_alone_has_endpoints(having: tuple[str, ...], serves: bool) -> None:
    stand_ins, main = made(StandIns(without_endpoints=ERR)), destination(builders.route())

    def has_endpoints(asked: BackendKey | None) -> bool:
        return (asked or "").removeprefix("shop/").removesuffix(":80") in having

    assert (stand_ins.instead_of(main, has_endpoints) is not None) is serves

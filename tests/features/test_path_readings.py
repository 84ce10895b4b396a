"""No endpoint serves a protected path for a target that matched an open one, whatever syntax of paths it reads."""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import Refusal
from balancer.http1.heads import RequestHeadReader
from balancer.http2.requests import RequestReader
from balancer.matching.routing import RouteTable, compile_routes
from balancer.model.gates import BasicAuth, SourceRanges
from balancer.model.routes import PathKind, PathParameters, Route
from balancer.model.settings import ProxySettings
from ingress.settings.context import TranslationContext
from tests import builders as build
from tests.fakes.backends import EchoEndpoint, echoing
from tests.features.faults.http2_clients import Http2Client
from tests.features.paths.readers import READERS, Reader
from tests.features.paths.targets import HONEST, PIECES, TARGETS
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.test_sign_in import OF_BAR, users
from tests.integration.wire import Connection

HOST = "shop.test"
PROTECTED = (b"secret", b"admin")


def protected(place: str) -> Route:
    return msgspec.structs.replace(build.route(place), gates=(BasicAuth("shop/pw"),))


def expression(place: str, text: str, *, gates: bool) -> Route:
    rules = (SourceRanges(allowed=("10.0.0.0/8",)),) if gates else ()
    return msgspec.structs.replace(build.route(place), kind=PathKind.REGEX, expression=text, gates=rules)


CLOSED = msgspec.structs.replace(build.route("/secret"), closed=True)
HOSTS = {
    "beside an open path": (build.route("/public"), protected("/secret")),
    "below the root": (build.route("/"), build.route("/public"), protected("/secret"), protected("/admin")),
    "closed": (build.route("/"), CLOSED),
    "expressions": (
        expression("/secret", "^/secret(/|$)", gates=True),
        expression("/", "^/", gates=False),
    ),
}


def table(routes: tuple[Route, ...], parameters: PathParameters = PathParameters.REFUSE) -> RouteTable:
    host = msgspec.structs.replace(build.host(HOST, *routes), path_parameters=parameters)
    return compile_routes(build.model(hosts=[host], default_route=build.route("/", "ops/pages:80")))


TABLES = {
    (name, each): table(routes, each)
    for name, routes in HOSTS.items()
    for each in (PathParameters.REFUSE, PathParameters.STRIP)
}


def over_http1(target: str) -> tuple[bytes, bytes]:
    method = "OPTIONS" if target == "*" else "GET"
    head = f"{method} {target} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode("latin-1")
    request = RequestHeadReader(ProxySettings()).read(head)
    return request.path, request.target


def over_http2(target: str) -> tuple[bytes, bytes]:
    method = b"OPTIONS" if target == "*" else b"GET"
    fields = (
        (b":method", method),
        (b":scheme", b"http"),
        (b":authority", HOST.encode()),
        (b":path", target.encode("latin-1")),
    )
    request = RequestReader(field_bytes=8192, fields_max=100, list_bytes=65536).read(fields, True)
    return request.path, request.target


def outcome(routes: RouteTable, target: str, version: str) -> tuple[Route | None, bytes] | None:
    """The route of a target and what endpoints get of it; None if it is refused."""
    try:
        read, sent = (over_http1 if version == "http1" else over_http2)(target)
        match = routes.match(HOST.encode(), read, sent)
    except Refusal:
        return None
    return (match.served.route if match is not None else None), sent


def is_protected(route: Route | None) -> bool:
    return route is not None and (route.closed or bool(route.gates))


def leads_to_protected(reader: Reader, sent: bytes, names: tuple[bytes, ...] = PROTECTED) -> bool:
    served = reader(sent)
    return served is not None and served.lstrip(b"/").partition(b"/")[0].lower() in names


@pytest.mark.parametrize("version", ["http1", "http2"])
@pytest.mark.parametrize("routes", HOSTS.values(), ids=HOSTS.keys())
@pytest.mark.parametrize("parameters", [PathParameters.REFUSE, PathParameters.STRIP], ids=lambda each: each.value)
def test_no_reader_gets_from_an_open_path_to_a_protected_one(
    routes: tuple[Route, ...], parameters: PathParameters, version: str
) -> None:
    compiled = table(routes, parameters)
    passed = []
    for target in TARGETS:
        found = outcome(compiled, target, version)
        if found is not None and not is_protected(found[0]):
            passed += [
                (target, reader.__name__)
                for reader in READERS
                if found[0] is not None and leads_to_protected(reader, found[1])
            ]
    assert passed == []


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join), st.sampled_from(sorted(HOSTS)))
@pytest.mark.parametrize("parameters", [PathParameters.REFUSE, PathParameters.STRIP], ids=lambda each: each.value)
def test_no_reader_gets_there_by_any_other_target(parameters: PathParameters, pieces: str, host: str) -> None:
    found = outcome(TABLES[host, parameters], f"/{pieces}", "http1")
    if found is not None and found[0] is not None and not is_protected(found[0]):
        names = tuple(route.path.strip("/").encode() for route in HOSTS[host] if is_protected(route))
        assert [reader.__name__ for reader in READERS if leads_to_protected(reader, found[1], names)] == []


def test_the_table_is_long_and_has_every_outcome() -> None:
    compiled, outcomes = table(HOSTS["below the root"]), Counter[str]()
    for target in TARGETS:
        found = outcome(compiled, target, "http1")
        outcomes["refused" if found is None else "protected" if is_protected(found[0]) else "open"] += 1
    assert outcomes.total() >= 200
    assert min(outcomes[each] for each in ("refused", "protected", "open")) >= 10
    reached = [any(leads_to_protected(reader, target.encode("latin-1")) for target in TARGETS) for reader in READERS]
    assert all(reached)


@pytest.mark.parametrize(("target", "place"), HONEST)
@pytest.mark.parametrize("version", ["http1", "http2"])
def test_honest_targets_are_served_as_before(target: str, place: str, version: str) -> None:
    found = outcome(table(HOSTS["below the root"]), target, version)
    assert found is not None
    assert found[0] is not None
    assert found[0].path == place


def test_a_host_whose_paths_have_the_same_gates_serves_every_reading() -> None:
    alike = table((protected("/secret"), protected("/")))
    open_ones = table((build.route("/secret"), build.route("/")))
    for routes in (alike, open_ones):
        for target in ("/secret;a=b", "/x/..;/secret", "/secret%5cx", "//public/secret"):
            found = outcome(routes, target, "http1")
            assert found is not None
            assert found[0] is not None


@asynccontextmanager
async def serving(**settings: str) -> AsyncIterator[tuple[DataPlane, EchoEndpoint]]:
    """An open path `/` and a path `/secret` that asks for a password, before one endpoint."""
    said = {
        "nginx.ingress.kubernetes.io/auth-type": "basic",
        "nginx.ingress.kubernetes.io/auth-secret": "pw",
    }
    config = config_map(ssl_redirect="false", http2_cleartext="true", **settings)
    async with data_plane() as plane, echoing("web", {"zone-a": 1}) as (web,):
        cluster = [ingress_class(), config, service("web"), endpoint_slice(web), users("pw", f"foo:{OF_BAR}\n")]
        cluster.append(ingress("open", rule(HOST, path("/", "web"))))
        cluster.append(ingress("guarded", rule(HOST, path("/secret", "web")), annotations=said))
        plane.serve(cluster, TranslationContext(allow_local_endpoints=True))
        yield plane, web


async def status_over_http1(plane: DataPlane, target: str, *lines: str) -> int:
    head = "\r\n".join((f"GET {target} HTTP/1.1", f"Host: {HOST}", *lines, "", ""))
    async with await Connection.open(plane.http_port) as connection:
        return (await connection.send(head.encode("latin-1"))).status


async def statuses_over_http2(plane: DataPlane, targets: tuple[str, ...], *lines: str) -> list[int]:
    async with Http2Client.to(plane.http_port) as client:
        heads = ("\r\n".join((f"GET {each} HTTP/1.1", f"host: {HOST}", *lines, "", "")) for each in targets)
        answers = await asyncio.gather(*(client.ask(head.encode("latin-1")) for head in heads))
    return [answer.status for answer in answers]


SAMPLE = {
    "/public/..\\secret": 400,
    "/secret\\": 400,
    "/public/..%5csecret": 400,
    "/secret%5cx": 400,
    "/public/..;/secret": 400,
    "/secret;a=b": 400,
    "/;/secret": 400,
    "//public/secret": 400,
    "/public/..%2fsecret": 400,
    "/public/..%252fsecret": 400,
    "/%73ecret": 401,
    "/public/../secret": 401,
    "/secret/x;jsessionid=1": 401,
    "/public/a;b=c": 200,
    "/public/a%3bb": 200,
    "/public/a%5cb": 200,
}


async def test_over_the_wire_in_both_versions() -> None:
    async with serving() as (plane, web):
        assert {target: await status_over_http1(plane, target) for target in SAMPLE} == SAMPLE
        told = await statuses_over_http2(plane, tuple(SAMPLE))
        assert dict(zip(SAMPLE, told, strict=True)) == SAMPLE
        assert web.requests == 2 * list(SAMPLE.values()).count(200)


@pytest.mark.parametrize(
    ("parameters", "statuses"),
    [
        ("strip-for-matching", {"/secret;a=b": 401, "/x/..;/secret": 401, "/secret/..;/public": 400, "/a;b": 200}),
        ("pass", {"/secret;a=b": 200, "/x/..;/secret": 200, "/secret%5cx": 400, "/a;b": 200}),
    ],
)
async def test_the_option_says_what_parameters_mean(parameters: str, statuses: dict[str, int]) -> None:
    async with serving(path_parameters=parameters) as (plane, _):
        assert {target: await status_over_http1(plane, target) for target in statuses} == statuses


async def test_endpoints_get_the_target_as_it_came_also_if_it_matched_without_parameters() -> None:
    signed = "Authorization: Basic " + base64.b64encode(b"foo:bar").decode()
    head = f"GET /secret;a=b/x HTTP/1.1\r\nHost: {HOST}\r\n{signed}\r\n\r\n".encode()
    async with (
        serving(path_parameters="strip-for-matching") as (plane, _),
        await Connection.open(plane.http_port) as connection,
    ):
        response = await connection.send(head)
    assert response.status == 200
    assert b"/secret;a=b/x" in response.body

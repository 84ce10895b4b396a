"""Regular expressions as paths and rewritten targets, over real sockets: what endpoints get, and who gets nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint, echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import (
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.wire import Connection, Response, get, request_bytes

HOST = "shop.test"
CONTEXT = TranslationContext(allow_local_endpoints=True)
NGINX = "nginx.ingress.kubernetes.io/"
# ingress-nginx takes regular expressions with this type of path.
REGEX = "ImplementationSpecific"


def web(name: str, *paths: Document, **annotations: str) -> Document:
    said = {NGINX + key.replace("_", "-"): text for key, text in annotations.items()}
    return ingress(name, rule(HOST, *paths), annotations=said)


@asynccontextmanager
async def serving(
    *ingresses: Document, endpoints: int = 1
) -> AsyncIterator[tuple[DataPlane, Mapping[str, tuple[EchoEndpoint, ...]]]]:
    """The Ingresses, with so many endpoints of the Service web and one of admin."""
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(data_plane())
        first = await stack.enter_async_context(echoing("web", {"zone-a": endpoints}))
        second = await stack.enter_async_context(echoing("admin", {"zone-a": 1}))
        slices = map(endpoint_slice, (*first, *second))
        plane.serve((ingress_class(), service("web"), service("admin"), *slices, *ingresses), CONTEXT)
        yield plane, {"web": first, "admin": second}


async def ask(plane: DataPlane, target: str, *fields: str, host: str = HOST) -> Response:
    async with await Connection.open(plane.http_port) as connection:
        return await connection.send(request_bytes("GET", target, f"Host: {host}", *fields))


def values(answer: Response, name: str) -> list[str]:
    """The values of a field that the endpoint got."""
    return [value for each, value in answer.json()["headers"] if each.lower() == name]


@pytest.mark.parametrize(
    "target",
    [
        "/admin",
        "/admin/x",
        "/ADMIN/x",
        "/%61dmin/x",
        "/admin%2Fx",
        "/admin%2fx",
        "//admin/x",
        "/./admin/x",
        "/x/../admin/x",
        "/x/%2e%2e/admin/x",
        "/x%2f..%2fadmin/x",
        "/admin/../admin/x",
        "/admin/x%0ay",
        "/admin%0a",
        "/admin%0d%0a",
        "/admin/%0b",
        "/admin/%ff",
        "/admin/x?y",
        f"http://{HOST}/admin/x",
    ],
)
@pytest.mark.parametrize("host", [HOST, HOST.upper(), f"{HOST}."])
async def test_no_spelling_of_a_path_gets_by_its_protection(target: str, host: str) -> None:
    protected = path("/admin(/|$)(.*)$", "admin", kind=REGEX)
    closed = web("admin", protected, rewrite_target="/$2", allowlist_source_range="192.0.2.0/24")
    async with serving(web("web", path("/", "web")), closed) as (plane, endpoints):
        answer = await ask(plane, target, host=host)
        assert answer.status in {400, 403, 404}
        assert [each.requests for each in (*endpoints["web"], *endpoints["admin"])] == [0, 0]


@pytest.mark.parametrize(
    ("target", "sent"),
    [
        ("/api", "/"),
        ("/api/a%20b?x=%20&y", "/a%20b?x=%20&y"),
        ("/API/c%3Fd%25e%23", "/c%3Fd%25e%23"),
        ("/api//a///b%2Fc", "/a/b/c"),
        ("/api/%ff%C3%A9", "/%FF%C3%A9"),
        ("/api/x%0dHost:%20evil.test%20HTTP/1.1", "/x%0DHost:%20evil.test%20HTTP/1.1"),
        ("/api/%7b%7c%7d%5c%22", "/%7B%7C%7D%5C%22"),
        (f"http://{HOST}/api/x?y", "/x?y"),
    ],
)
async def test_what_a_capture_becomes_on_the_wire(target: str, sent: str) -> None:
    async with serving(web("web", path("/api(/|$)(.*)", "web", kind=REGEX), rewrite_target="/$2")) as (plane, _):
        answer = await ask(plane, target)
        assert (answer.status, answer.json()["target"]) == (200, sent)
        assert values(answer, "host") == [HOST]


async def test_captures_cannot_leave_the_target_that_the_operator_meant() -> None:
    files = web("web", path("/v1(.*)", "web", kind=REGEX), rewrite_target="/files/$1")
    async with serving(files) as (plane, endpoints):
        assert (await ask(plane, "/v1../secret")).status == 400
        assert endpoints["web"][0].requests == 0
        assert (await ask(plane, "/v1.x/public")).json()["target"] == "/files/.x/public"


async def test_a_prefix_is_told_with_a_rewritten_target_and_with_no_other_request_of_the_connection() -> None:
    rewriting = web("api", path("/api/(.*)", "web", kind=REGEX), rewrite_target="/$1", x_forwarded_prefix="/api")
    async with serving(rewriting, web("web", path("/", "web"))) as (plane, _):
        async with await Connection.open(plane.http_port) as connection:
            answers = [
                await connection.send(request_bytes("GET", target, f"Host: {HOST}", "X-Forwarded-Prefix: /client"))
                for target in ("/api/x", "/other", "/api/y")
            ]
        assert [answer.json()["target"] for answer in answers] == ["/x", "/other", "/y"]
        assert [values(answer, "x-forwarded-prefix") for answer in answers] == [["/api"], [], ["/api"]]


async def test_a_session_stays_at_its_endpoint_on_rewritten_paths() -> None:
    sticky = web(
        "web",
        path("/app(/|$)(.*)", "web", kind=REGEX),
        rewrite_target="/$2",
        affinity="cookie",
        session_cookie_path="/app",
    )
    async with serving(sticky, endpoints=3) as (plane, _):
        first = await ask(plane, "/app/one")
        cookie = (first.field("set-cookie") or "").partition(";")[0]
        others = [await ask(plane, f"/app/{number}", f"Cookie: {cookie}") for number in range(6)]
        assert {each.json()["endpoint"] for each in others} == {first.json()["endpoint"]}
        assert [each.json()["target"] for each in others] == [f"/{number}" for number in range(6)]


async def test_a_canary_gets_the_target_of_its_main_ingress() -> None:
    main = web("web", path("/app(/|$)(.*)", "web", kind=REGEX), rewrite_target="/$2")
    trial = web("trial", path("/app(/|$)(.*)", "admin", kind=REGEX), canary="true", canary_by_header="X-Trial")
    async with serving(main, trial) as (plane, _):
        answers = [await ask(plane, "/app/x", f"X-Trial: {said}") for said in ("always", "never")]
        assert [(each.json()["service"], each.json()["target"]) for each in answers] == [("admin", "/x"), ("web", "/x")]


async def test_an_expression_that_takes_a_backtracking_engine_hours_takes_no_time() -> None:
    async with serving(web("web", path("/(a+)+(b|c)*$", "web", kind=REGEX), use_regex="true")) as (plane, _):
        assert (await get(plane.http_port, HOST, "/" + "a" * 250 + "!")).status == 404
        assert (await get(plane.http_port, HOST, "/" + "a" * 250)).status == 200
        assert (await get(plane.http_port, HOST, "/" + "a" * 4000)).status == 414


async def test_rewritten_requests_stay_in_their_zone() -> None:
    settings = config_map(zone_aware_routing="true", zone_policy="prefer-zone", zone_min_endpoints="1")
    app = web("web", path("/app(/|$)(.*)", "web", kind=REGEX), rewrite_target="/$2")
    async with data_plane() as plane, echoing("web", {"zone-a": 1, "zone-b": 1}) as endpoints:
        cluster = (ingress_class(), settings, service("web"), *map(endpoint_slice, endpoints), app)
        plane.serve(cluster, msgspec.structs.replace(CONTEXT, zone="zone-a"))
        answers = [(await ask(plane, "/app/x")).json() for _ in range(6)]
        assert {(each["zone"], each["target"]) for each in answers} == {("zone-a", "/x")}

"""Auth services from manifest to wire: whatever a service or a client does, nobody passes without a 2xx."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint, echoing
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.wire import Connection, Response

HOST = "shop.test"
PREFIX = "nginx.ingress.kubernetes.io/"
YES = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
NO = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def guarded(script: Script, **said: str) -> AsyncIterator[tuple[DataPlane, ScriptedEndpoint, EchoEndpoint]]:
    """A path `/` whose requests a service of this script judges, a path `/open` of its own, and their endpoint."""
    async with ScriptedEndpoint(script) as auth, echoing("web", {"zone-a": 1}) as (web,), data_plane() as plane:
        url = f"http://{auth.address}:{auth.port}/check"
        annotations = {PREFIX + name.replace("_", "-"): text for name, text in {"auth_url": url, **said}.items()}
        plane.serve(
            [
                ingress_class(),
                config_map(ssl_redirect="false"),
                service("web"),
                endpoint_slice(web),
                ingress("guarded", rule(HOST, path("/", "web")), annotations=annotations),
                ingress("open", rule(HOST, path("/open", "web"))),
            ],
            TranslationContext(allow_local_endpoints=True),
        )
        yield plane, auth, web


async def ask(plane: DataPlane, target: str = "/", *lines: str, method: str = "GET", host: str = HOST) -> Response:
    """The answer to one request on a connection of its own."""
    head = "".join(f"{line}\r\n" for line in (f"{method} {target} HTTP/1.1", f"Host: {host}", *lines))
    async with await Connection.open(plane.http_port) as connection:
        return await connection.send(f"{head}\r\n".encode("latin-1"), method=method)


def by_original_url(allowed: Callable[[str], bool]) -> Script:
    """A service that lets requests pass by the URL that it is told."""

    async def script(visit: Visit) -> None:
        while True:
            head = (await visit.head()).decode("latin-1")
            url = next(line.partition(": ")[2] for line in head.split("\r\n") if line.startswith("X-Original-URL:"))
            await visit.send(YES if allowed(url) else NO)

    return script


async def hangs(visit: Visit) -> None:
    await visit.head()
    await visit.rest()


async def closes(visit: Visit) -> None:
    await visit.head()


def once(answer: bytes) -> Script:
    """A service that says this and closes."""

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(answer)

    return script


async def floods_its_head(visit: Visit) -> None:
    await visit.head()
    await visit.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await visit.send(b"X-Flood: " + b"a" * 4000 + b"\r\n")


@pytest.mark.parametrize(
    "script",
    [
        closes,
        floods_its_head,
        once(b"nonsense\r\n\r\n"),
        once(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"),
        once(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"),
        once(b"HTTP/1.1 100 Continue\r\n\r\n"),
        once(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
        once(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"),
        once(b"HTTP/1.1 200 OK\r\nX-User: a\0b\r\nContent-Length: 0\r\n\r\n"),
        once(b"HTTP/1.1 200 OK\r\nX-User: a\rSet-Cookie: b\r\nContent-Length: 0\r\n\r\n"),
    ],
)
async def test_nobody_passes_without_a_yes(script: Script) -> None:
    async with guarded(script, auth_response_headers="X-User") as (plane, _, web):
        response = await ask(plane)
        assert (response.status, web.requests) == (500, 0)
        assert (await ask(plane, "/open")).status == 200


async def test_a_service_that_hangs_stops_no_other_route_and_its_clients_may_leave() -> None:
    async with guarded(hangs) as (plane, auth, web), AsyncExitStack() as stack:
        waiting = [await stack.enter_async_context(RawClient(plane.http_port)) for _ in range(50)]
        for client in waiting:
            client.send(f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        await until(lambda: auth.requests == 50)
        assert [(await ask(plane, "/open")).status for _ in range(5)] == [200] * 5
        for client in waiting:
            client.reset()
        await until(lambda: plane.worker.connections()["client_active"] == 0)
        assert web.requests == 5


@pytest.mark.parametrize(
    "target",
    [
        "/admin", "/./admin", "/x/../admin", "//admin", "/%61dmin", "/admin%2f", "/admin/", "/admin?x=/open",
        "/open/../admin",
        f"http://{HOST}/admin", "/open/..%2fadmin", "/%2e%2e/admin", "/ADMIN", "/admin;x", "/open;/../admin",
        "/admin%00", "/admin%0a",
    ],
)  # fmt: skip
async def test_no_spelling_of_a_path_gets_around_the_service(target: str) -> None:
    async with guarded(answering(NO)) as (plane, _, web):
        response = await ask(plane, target)
        assert response.status in (400, 403)
        assert web.requests == 0


@pytest.mark.parametrize("target", ["/a/b?c=d%20e", "/x/../a", "//a", "/%61", "/a;b", f"http://{HOST}/a?b"])
async def test_the_service_judges_the_target_that_the_endpoint_gets(target: str) -> None:
    told: list[str] = []

    def note(url: str) -> bool:
        told.append(url)
        return True

    async with guarded(by_original_url(note)) as (plane, _, _):
        response = await ask(plane, target)
        assert response.status == 200
        assert told == [f"http://{HOST}{response.json()['target']}"]


@pytest.mark.parametrize("host", [f"{HOST}.", HOST.upper(), f"{HOST}:8080"])
async def test_no_spelling_of_a_host_gets_around_the_service(host: str) -> None:
    async with guarded(answering(NO)) as (plane, _, web):
        assert (await ask(plane, host=host)).status == 403
        assert web.requests == 0


async def test_a_client_can_set_no_field_of_the_service() -> None:
    yes = b"HTTP/1.1 200 OK\r\nX-User: alice\r\nContent-Length: 0\r\n\r\n"
    async with guarded(answering(yes), auth_response_headers="X-User, X-Groups, Authorization") as (plane, _, _):
        lines = ("X-User: root", "x-user: root", "X_User: root", "X-Groups: admin", "Authorization: Basic cm9vdA==")
        response = await ask(plane, "/", *lines, "Connection: X-User")
        got = [[name.lower(), value] for name, value in response.json()["headers"]]
        assert [pair for pair in got if pair[0].replace("_", "-") in ("x-user", "x-groups", "authorization")] == [
            ["x-user", "alice"]
        ]


async def test_what_a_client_says_about_itself_does_not_reach_the_service() -> None:
    lines = ("X-Original-URL: http://shop.test/open", "X-Original-Method: GET", "X-Forwarded-For: 10.0.0.1")
    more = ("X-Forwarded-Uri: /open", "X-Real-IP: 10.0.0.1", "X-Sent-From: me", "X!Real!IP: 10.0.0.1")
    others = ("Forwarded: for=10.0.0.1", "X_Real_IP: 10.0.0.1", "X|Forwarded|For: 10.0.0.1")
    async with guarded(answering(YES)) as (plane, auth, _):
        assert (await ask(plane, "/admin", *lines, *more, *others, method="DELETE")).status == 200
        head = auth.visits[0].received
        assert b"/open" not in head
        assert b"10.0.0.1" not in head
        assert head.count(b"X-Original-URL: http://shop.test/admin\r\n") == 1
        assert b"X-Original-Method: DELETE\r\n" in head


async def test_the_body_of_a_client_reaches_the_endpoint_alone_and_only_after_the_verdict() -> None:
    async with guarded(answering(YES)) as (plane, auth, _), await Connection.open(plane.http_port) as connection:
        body = b"x" * 300_000
        head = f"POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        response = await connection.send(head + body)
        assert (response.status, response.json()["body_bytes"]) == (200, len(body))
        assert b"xxx" not in auth.visits[0].received
        assert b"content-length" not in auth.visits[0].received.lower()


async def test_a_refusal_shows_nothing_of_the_service_but_what_clients_need() -> None:
    fields = b'WWW-Authenticate: Basic realm="a"\r\nX-Secret: s\r\nServer: inner\r\nContent-Length: 3\r\n'
    said = b"HTTP/1.1 401 No\r\n%b\r\nwho" % fields
    async with guarded(answering(said)) as (plane, _, _):
        response = await ask(plane)
        assert (response.status, response.body) == (401, b"who")
        assert response.field("www-authenticate") == 'Basic realm="a"'
        assert response.field("x-secret") is None
        assert response.field("server") is None
        assert (await ask(plane, method="HEAD")).body == b""


async def test_a_sign_in_page_gets_no_line_break_of_a_client() -> None:
    said = b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"
    async with guarded(answering(said), auth_signin="http://login.test/$cookie_s$arg_x") as (plane, _, _):
        response = await ask(plane, "/?x=%0d%0aSet-Cookie:%20a=b", 'Cookie: s=<"é>')
        assert response.status == 302
        location = response.field("location")
        assert location is not None
        assert location.isascii()
        assert " " not in location
        assert response.field("set-cookie") is None


async def test_pipelined_requests_are_each_judged() -> None:
    script = by_original_url(lambda url: url.endswith("/yes"))
    async with guarded(script) as (plane, _, web), await Connection.open(plane.http_port) as connection:
        requests = "".join(
            f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\n\r\n" for target in ("/yes", "/no", "/yes", "/no")
        )
        first = await connection.send(requests.encode())
        rest = [await connection.send(b"") for _ in range(3)]
        assert [each.status for each in (first, *rest)] == [200, 403, 200, 403]
        assert web.requests == 2

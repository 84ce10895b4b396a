"""Hooks from manifest to wire: what they see, what they change, and what becomes of a request when they fail."""

from __future__ import annotations

import asyncio

import pytest

from ingress.settings.table.option import NGINX_PREFIX
from tests.fakes.endpoints import ScriptedEndpoint, answering
from tests.features.hooks.serving import HOST, hooked, sent
from tests.integration.running import until
from tests.integration.wire import Connection, request_bytes

TENANT = """
class Settings(msgspec.Struct):
    tenants: list[str]

@hook
async def request(request: Request, settings: Settings):
    if request.headers.get("x-tenant") not in settings.tenants:
        return Deny(403)
    request.set_header("x-tenant-tier", "gold")
"""
GOLD = '{"tenants": ["a", "b"]}'
_CLIENTS, _RELOADS, _BETWEEN = 8, 10, 30


async def test_a_hook_lets_pass_and_refuses_by_its_settings() -> None:
    async with hooked(TENANT, GOLD) as served:
        assert served.findings == ()
        assert (await served.ask("/", "X-Tenant: c")).status == 403
        passed = await served.ask("/", "X-Tenant: a")
        assert passed.status == 200
        assert sent(passed)["x-tenant-tier"] == "gold"
        assert served.web.requests == 1


async def test_a_route_without_hooks_is_served_as_ever() -> None:
    async with hooked(TENANT, GOLD) as served:
        plain = await served.ask("/plain", "X-Tenant: c")
        assert plain.status == 200
        assert "x-tenant-tier" not in sent(plain)


async def test_a_hook_sees_the_request() -> None:
    text = """
@hook
def request(r):
    seen = [r.method, r.scheme, r.host, r.path, r.target, r.query, r.client, r.route, str(r.is_tls), str(r.body)]
    return Reply(200, {"x-id": r.id, "x-a": ",".join(r.headers.all("x-a"))}, "|".join(seen))
"""
    async with hooked(text) as served:
        told = await served.ask("/a/%7Eb?c=d", "X-A: 1", "X-A: 2", "X-Request-ID: r7")
        assert told.body.decode() == "GET|http|shop.test|/a/~b|/a/%7Eb?c=d|c=d|127.0.0.1|shop/hooked|False|None"
        assert (told.field("x-a"), told.field("x-id")) == ("1,2", "r7")


async def test_edits_replace_add_and_remove_fields() -> None:
    text = """
@hook
def request(r):
    r.set_header("X-A", "set")
    r.add_header("X-B", "added")
    r.remove_header("X-C")
    r.set_header("X-Forwarded-For", "203.0.113.9")
"""
    async with hooked(text) as served:
        told = await served.ask("/", "X-A: 1", "X-B: 1", "X-C: 1")
        fields = [(name.lower(), value) for name, value in told.json()["headers"]]
        assert [value for name, value in fields if name == "x-a"] == ["set"]
        assert sorted(value for name, value in fields if name == "x-b") == ["1", "added"]
        assert [value for name, value in fields if name == "x-c"] == []
        assert [value for name, value in fields if name == "x-forwarded-for"] == ["203.0.113.9"]


async def test_a_later_hook_sees_what_an_earlier_one_did() -> None:
    first = "@hook\ndef request(r):\n    r.set_header('x-a', 'first'); r.remove_header('x-b')\n"
    second = "@hook\ndef request(r):\n    r.set_header('x-seen', f\"{r.headers.get('x-a')} {r.headers.get('x-b')}\")\n"
    third = "@hook\ndef request(r):\n    r.set_header('x-a', r.headers['x-a'] + ' third')\n"
    async with hooked(first, second=second, third=third) as served:
        fields = sent(await served.ask("/", "X-A: client", "X-B: client"))
        assert fields["x-seen"] == "first None"
        assert fields["x-a"] == "first third"


async def test_a_hook_reads_what_gates_say_and_not_what_clients_claim() -> None:
    text = "@hook\ndef request(r):\n    return Reply(200, body=','.join(r.headers.all('x-user')))\n"
    yes = answering(b"HTTP/1.1 200 OK\r\nX-User: alice\r\nContent-Length: 0\r\n\r\n")
    async with ScriptedEndpoint(yes) as auth:
        url = f"http://{auth.address}:{auth.port}/check"
        said = {NGINX_PREFIX + "auth-url": url, NGINX_PREFIX + "auth-response-headers": "X-User"}
        async with hooked(text, annotations=said) as served:
            assert served.findings == ()
            assert (await served.ask("/", "X-User: root")).body == b"alice"


async def test_nothing_of_a_hook_stays_with_the_connection() -> None:
    """The same fields come twice on one connection, and the endpoint's head is remembered in between."""
    text = "@hook\ndef request(r):\n    r.set_header('x-path', r.path)\n"
    text += "@hook\ndef response(r):\n    r.set_header('x-answer-to', r.request.path)\n"
    async with hooked(text) as served, await Connection.open(served.plane.http_port) as connection:
        for target in ("/one", "/two", "/plain", "/one", "/plain"):
            told = await connection.get(HOST, target, "X-Same: same")
            expected = None if target == "/plain" else target
            assert sent(told).get("x-path") == expected
            assert told.field("x-answer-to") == expected


@pytest.mark.parametrize("wait", ["", "    await asyncio.sleep(0.01)\n"])
async def test_a_response_hook_edits_what_endpoints_and_the_proxy_answer(wait: str) -> None:
    text = f"@hook(timeout='20s')\nasync def response(r):\n{wait}"
    text += "    r.set_header('x-status', str(r.status)); r.remove_header('server')\n"
    async with hooked(text) as served:
        for target, status in (("/", 200), ("/", 200)):
            told = await served.ask(target)
            assert (told.status, told.field("x-status"), told.field("server")) == (status, str(status), None)
            assert told.json()["service"] == "web"
        await served.web.stop()
        told = await served.ask("/")
        assert (told.status, told.field("x-status")) == (502, "502")


@pytest.mark.parametrize("wait", ["", "    await asyncio.sleep(0.01)\n"])
async def test_a_response_hook_answers_in_the_place_of_the_endpoint(wait: str) -> None:
    text = f"@hook(timeout='20s')\nasync def response(r):\n{wait}    return Reply(418, {{'x-b': '1'}}, 'tea')\n"
    async with hooked(text) as served, await Connection.open(served.plane.http_port) as connection:
        for _ in range(3):
            told = await connection.get(HOST, "/")
            assert (told.status, told.field("x-b"), told.body) == (418, "1", b"tea")
        assert (await connection.get(HOST, "/plain")).status == 200


async def test_a_waiting_response_hook_does_not_lose_a_long_body() -> None:
    text = "@hook(timeout='20s')\nasync def response(r):\n    await asyncio.sleep(0.05)\n    r.set_header('x-a', '1')\n"
    async with hooked(text) as served:
        told = await served.ask("/", "X-Long: " + "x" * 6000)
        assert told.field("x-a") == "1"
        assert sent(told)["x-long"] == "x" * 6000


@pytest.mark.parametrize("phase", ["request", "response"])
@pytest.mark.parametrize(
    "body",
    [
        "raise ValueError",
        "raise SystemExit(1)",
        "return 403",
        "r.set_header('a', 'b\\r\\nc: d')",
        "r.set_header('transfer-encoding', 'chunked')",
        "await asyncio.sleep(60)",
    ],
)
async def test_a_hook_that_fails_denies_or_passes(phase: str, body: str) -> None:
    text = f"async def {phase}(r):\n    {body}\n"
    async with hooked("@hook(timeout='20ms')\n" + text) as served:
        assert (await served.ask("/")).status == 503
        assert (await served.ask("/plain")).status == 200
        served.serve({"first": "@hook(timeout='20ms', on_error='pass')\n" + text})
        assert (await served.ask("/")).status == 200


async def test_a_body_is_read_by_hooks_that_ask_for_it() -> None:
    text = "@hook(body=True)\ndef request(r):\n    r.set_header('x-size', str(len(r.body)))\n"
    text += "    if r.body == b'no': return Deny(403)\n"
    async with hooked(text) as served:
        for size in (1, 65536):
            told = await served.ask("/", f"Content-Length: {size}", method="POST", body=b"x" * size)
            assert (sent(told)["x-size"], told.json()["body_bytes"]) == (str(size), size)
        told = await served.ask("/", "Transfer-Encoding: chunked", method="POST", body=b"3\r\nabc\r\n0\r\n\r\n")
        assert (sent(told)["x-size"], told.json()["body_bytes"]) == ("3", 3)
        assert (await served.ask("/", "Content-Length: 2", method="POST", body=b"no")).status == 403
        assert (await served.ask("/", "Content-Length: 65537", method="POST", body=b"x" * 65537)).status == 413
        chunk = b"10001\r\n" + b"x" * 65537 + b"\r\n0\r\n\r\n"
        assert (await served.ask("/", "Transfer-Encoding: chunked", method="POST", body=chunk)).status == 413
        assert sent(await served.ask("/"))["x-size"] == "0"


@pytest.mark.parametrize("asks", ["", "(body=True)"])
async def test_hooks_are_asked_once_where_bodies_are_received_first(asks: str) -> None:
    text = (
        f"calls = []\n@hook{asks}\ndef request(r):\n    calls.append(r)\n    r.set_header('x-calls', str(len(calls)))\n"
    )
    async with hooked(text, annotations={NGINX_PREFIX + "proxy-request-buffering": "on"}) as served:
        assert served.findings == ()
        for number in ("1", "2"):
            told = await served.ask("/", "Content-Length: 3", method="POST", body=b"abc")
            assert (sent(told)["x-calls"], told.json()["body_bytes"]) == (number, 3)


async def test_a_reload_changes_the_next_request_and_no_other() -> None:
    text = "@hook\ndef request(r):\n    return Reply(200, body='{}')\n"
    async with hooked(text.format("one")) as served, await Connection.open(served.plane.http_port) as connection:
        assert (await connection.get(HOST)).body == b"one"
        served.serve({"first": text.format("two")})
        assert (await connection.get(HOST)).body == b"two"


async def test_no_request_fails_while_hooks_change_again_and_again() -> None:
    """Each client sends one request after the other, and each version of a waiting hook is seen under load."""
    text = "@hook\nasync def request(r):\n    await asyncio.sleep(0)\n    r.set_header('x-version', '{}')\n"
    seen: list[str] = []
    is_over = asyncio.Event()
    async with hooked(text.format(0)) as served:

        async def client() -> None:
            async with await Connection.open(served.plane.http_port) as connection:
                while not is_over.is_set():
                    response = await connection.get(HOST)
                    assert response.status == 200
                    seen.append(sent(response)["x-version"])

        async with asyncio.TaskGroup() as group:
            for _ in range(_CLIENTS):
                group.create_task(client())
            for version in range(1, _RELOADS + 1):
                served.serve({"first": text.format(version)})
                enough = len(seen) + _BETWEEN
                await until(lambda: len(seen) >= enough and seen[-1] == str(version), seconds=30.0)  # noqa: B023
            is_over.set()
    assert {*seen} >= {str(version) for version in range(1, _RELOADS + 1)}


async def test_an_explanation_says_which_hook_is_asked() -> None:
    async with hooked(TENANT, GOLD) as served:
        told = served.plane.worker.explain(f"http://{HOST}/", (), client="192.0.2.1")
        assert "Hook first is asked. It is not run here, so the request is taken to pass." in str(told)


async def test_a_waiting_hook_ends_with_its_client() -> None:
    text = "@hook(timeout='30s')\nasync def request(r):\n    await asyncio.sleep(30)\n"
    async with hooked(text) as served:
        connection = await Connection.open(served.plane.http_port)
        connection._writer.write(request_bytes("GET", "/", f"Host: {HOST}"))
        connection.close()
        assert (await served.ask("/plain")).status == 200


@pytest.mark.parametrize(
    ("annotations", "reason"),
    [
        ({"hooks": "first, other", "hook-first": GOLD}, "HookUnknown"),
        ({"hooks": "first", "hook-first": '{"tenants": 7}'}, "HookSettingsInvalid"),
        ({"hooks": "first", "hook-first": "{"}, "HookSettingsInvalid"),
        ({"hooks": "first"}, "HookSettingsInvalid"),
        ({"hooks": "first", "hook-first": '{"tenants": [], "tennants": []}'}, "HookSettingsInvalid"),
        ({"hooks": "first,first"}, "ClosedByAnnotation"),
        ({"hooks": "First"}, "ClosedByAnnotation"),
    ],
)
async def test_what_cannot_be_asked_closes_its_paths(annotations: dict[str, str], reason: str) -> None:
    async with hooked(TENANT, annotations=annotations) as served:
        assert {finding.reason for finding in served.findings} == {reason}
        assert (await served.ask("/", "X-Tenant: a")).status == 503
        assert (await served.ask("/plain")).status == 200

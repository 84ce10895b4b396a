"""How a hook is tried without the proxy."""

from __future__ import annotations

from pathlib import Path

import pytest

from zonal_hooks.loading import NotAHook
from zonal_hooks.testing import request_of, try_file

TENANT = Path(__file__).with_name("tenant.py")


def test_a_request_is_refused_or_goes_on() -> None:
    tenant = try_file(TENANT, {"tenants": ["a"]})
    assert tenant.request("GET https://shop.test/").status == 403
    told = tenant.request("GET https://shop.test/", {"X-Tenant": "a"})
    assert told.passed
    assert told.headers["x-tier"] == "gold"
    assert told.choice.canary is True


def test_a_response_is_edited() -> None:
    tenant = try_file(TENANT, '{"tenants": []}')
    assert "server" not in tenant.response(200, {"server": "x"}).headers
    failed = tenant.response(500, {"server": "x"})
    assert (failed.status, failed.problem) == (None, "raised: ValueError: sick (line 30)")
    assert failed.headers["server"] == "x"


def test_a_hook_that_fails_denies(tmp_path: Path) -> None:
    path = tmp_path / "sick.py"
    path.write_text("from zonal_hooks import Reply, hook\n@hook\ndef request(r): return Reply(7)\n")
    assert try_file(path).request("GET http://a.test/").status == 503
    path.write_text(
        "import asyncio\nfrom zonal_hooks import hook, Reply\n@hook(timeout='1ms')\n"
        "async def request(r): await asyncio.sleep(60)\n"
    )
    assert "timeout" in try_file(path).request("GET http://a.test/").problem
    path.write_text("from zonal_hooks import Reply, hook\n@hook\ndef request(r): return Reply(200, {'A': 'b'}, 'c')\n")
    told = try_file(path).request("GET http://a.test/")
    assert (told.status, told.body, told.headers["a"]) == (200, b"c", "b")


def test_a_hook_that_asks_for_bodies_gets_one(tmp_path: Path) -> None:
    path = tmp_path / "sized.py"
    path.write_text(
        "from zonal_hooks import hook\n@hook(body=True)\ndef request(r): r.set_header('n', str(len(r.body)))\n"
    )
    sized = try_file(path)
    assert sized.request("GET http://a.test/").headers["n"] == "0"
    assert sized.request("POST http://a.test/", body=b"abc").headers["n"] == "3"


def test_every_value_of_a_field_reaches_the_next_function(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(
        "from zonal_hooks import hook\n@hook\ndef request(r): r.add_header('x-a', '3')\n"
        "@hook\ndef pick(r): r.set_affinity_key(','.join(r.headers.all('x-a')))\n"
    )
    told = try_file(path).request("GET http://a.test/", [("X-A", "1"), ("X-A", "2")])
    assert told.choice.affinity_key == "1,2,3"


def test_a_response_knows_its_request(tmp_path: Path) -> None:
    path = tmp_path / "knows.py"
    path.write_text(
        "from zonal_hooks import hook\n@hook\n"
        "def response(r): r.set_header('x-of', r.request.headers['origin'] + ' ' + r.request.client)\n"
    )
    told = try_file(path).response(request_headers={"Origin": "https://a.test"}, client="192.0.2.7")
    assert told.headers["x-of"] == "https://a.test 192.0.2.7"


def test_settings_that_do_not_fit_are_told() -> None:
    with pytest.raises(NotAHook, match="do not fit hook tenant"):
        try_file(TENANT, {"tenants": 7})
    with pytest.raises(NotAHook, match="do not fit hook tenant: there is no 'tenant', only tenants"):
        try_file(TENANT, {"tenants": [], "tenant": "a"})


def test_a_line_is_a_method_and_a_url() -> None:
    asked = request_of("POST https://Shop.test:8443/a?b=c", {}, body=b"x")
    assert (asked.method, asked.host, asked.target, asked.is_tls, asked.body) == (
        "POST",
        "shop.test",
        "/a?b=c",
        True,
        b"x",
    )
    for wrong in ("https://shop.test/", "GET /", "GET ftp://a/", ""):
        with pytest.raises(NotAHook, match="is no request"):
            request_of(wrong, {})

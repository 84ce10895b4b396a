"""Requests and responses as hooks see them, and the edits that are recorded."""

from __future__ import annotations

import pytest

from zonal_hooks.headers import written_name
from zonal_hooks.messages import NO_CHOICE, Choice, Edits, Request, Response, folded

FIELDS = ((b"x-tenant", b"gold"), (b"accept", b"*/*"))


def request(**given: bytes) -> Request:
    parts = {"method": b"GET", "authority": b"Shop.test:8080", "path": b"/cart", "target": b"/cart?id=7", **given}
    return Request(
        FIELDS, parts["method"], parts["authority"], parts["path"], parts["target"], "192.0.2.1", True, b"r1"
    )


def test_a_request_says_what_came() -> None:
    asked = request()
    assert (asked.method, asked.scheme, asked.host, asked.path) == ("GET", "https", "shop.test", "/cart")
    assert (asked.target, asked.query, asked.client, asked.id) == ("/cart?id=7", "id=7", "192.0.2.1", "r1")
    assert asked.headers.get("X-Tenant") == "gold"
    assert asked.body is None


@pytest.mark.parametrize(("authority", "host"), [(b"[::1]:80", "[::1]"), (b"A.test", "a.test"), (b"", "")])
def test_the_host_has_no_port(authority: bytes, host: str) -> None:
    assert request(authority=authority).host == host


def test_edits_are_recorded_and_change_nothing_that_is_read() -> None:
    asked = request()
    asked.set_header("X-Tenant", "tin")
    asked.add_header("X-Tenant", "two")
    asked.remove_header("Accept")
    assert asked.headers.get("x-tenant") == "gold"
    assert folded(asked.take()[0] or []) == Edits(
        frozenset({b"x-tenant", b"accept"}), ((b"X-Tenant", b"tin"), (b"X-Tenant", b"two"))
    )


def test_a_later_edit_takes_the_place_of_an_earlier_one() -> None:
    asked = request()
    asked.add_header("x-a", "1")
    asked.set_header("X-A", "2")
    asked.add_header("x-b", "1")
    asked.remove_header("X-B")
    assert folded(asked.take()[0] or []) == Edits(frozenset({b"x-a", b"x-b"}), ((b"X-A", b"2"),))


def test_no_edit_comes_after_the_end() -> None:
    asked = request()
    asked.allow_choice()
    asked.end()
    for edit in (asked.set_header, asked.add_header):
        with pytest.raises(RuntimeError, match="over"):
            edit("x-a", "1")
    with pytest.raises(RuntimeError, match="over"):
        asked.remove_header("x-a")
    with pytest.raises(RuntimeError, match="over"):
        asked.set_zone_policy("off")
    assert not asked.take()[0]


def test_edits_have_a_bound() -> None:
    asked = request()
    for number in range(64):
        asked.add_header(f"x-{number}", "1")
    with pytest.raises(ValueError, match="at most 64 fields"):
        asked.add_header("x-64", "1")
    asked = request()
    asked.add_header("x-a", "x" * 8192)
    with pytest.raises(ValueError, match="16384 bytes"):
        asked.add_header("x-b", "x" * 8192)
    asked.add_header("x-c", "x")  # what was refused takes no room
    assert [name.written for _, name, _ in asked.take()[0] or []] == [b"x-a", b"x-c"]


def test_only_a_pick_hook_chooses() -> None:
    asked = request()
    with pytest.raises(RuntimeError, match="only a `pick` hook"):
        asked.set_canary(True)
    asked.allow_choice()
    asked.set_zone_policy("off")
    asked.set_canary("cart-v2")
    asked.set_affinity_key("user-7")
    assert asked.take()[1] == Choice("off", "cart-v2", "user-7")
    assert asked.take()[1] is NO_CHOICE


@pytest.mark.parametrize("name", ["", "adaptive", "OFF"])
def test_a_zone_policy_is_one_of_those_that_need_no_numbers(name: str) -> None:
    asked = request()
    asked.allow_choice()
    with pytest.raises(ValueError, match="one of off, prefer-zone"):
        asked.set_zone_policy(name)


def test_an_affinity_key_is_a_short_text() -> None:
    asked = request()
    asked.allow_choice()
    for wrong in ("", "x" * 257):
        with pytest.raises(ValueError, match="1 to 256"):
            asked.set_affinity_key(wrong)
    with pytest.raises(TypeError):
        asked.set_canary(7)  # type: ignore[arg-type]


def test_a_response_has_its_status_and_its_request() -> None:
    asked = request()
    asked.end()
    answered = Response(((b"server", b"x"),), 200, asked)
    answered.set_header("Server", "y")
    assert (answered.status, answered.headers["server"], answered.request.path) == (200, "x", "/cart")
    assert folded(answered.take()[0] or []).added == ((b"Server", b"y"),)
    with pytest.raises(RuntimeError, match="over"):
        answered.request.set_header("x-a", "1")


def test_a_single_edit_amounts_to_itself() -> None:
    name = written_name("X-A")
    assert folded([("set", name, b"1")]) == Edits(frozenset({b"x-a"}), ((b"X-A", b"1"),))
    assert folded([("add", name, b"1")]) == Edits(frozenset(), ((b"X-A", b"1"),))
    assert folded([("remove", name, b"")]) == Edits(frozenset({b"x-a"}), ())

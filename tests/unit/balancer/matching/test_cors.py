"""CORS: which origins are allowed, and what their responses say."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.edits import HeadEdit
from balancer.http.messages import Fields, ResponseHead
from balancer.http.origin import Origin
from balancer.matching.cors import CorsEditor, Origins
from balancer.model.edits import CorsFields
from balancer.model.entry_points import HTTP
from tests.questions import question_of

SHOP = ("https://shop.test", "https://*.shop.test:8080", "null")
FIELDS = (("Access-Control-Max-Age", "5"),)
VARY = (b"Vary", b"Origin")
PEER = Origin(peer="10.0.0.1", entry_point=HTTP)


def allowed(origins: tuple[str, ...], *fields: str) -> bytes | None:
    return Origins(origins).allowed(question_of("http://web.test/", fields).request)


def edited(
    origins: tuple[str, ...], origin: str, *, own: Fields = (), given: HeadEdit | None = None
) -> tuple[frozenset[bytes], Fields]:
    request = question_of("http://web.test/", [f"Origin: {origin}"]).request
    edit = CorsEditor(CorsFields(origins, FIELDS)).edit(
        request, PEER, ResponseHead(200, own, 0, b""), given or HeadEdit()
    )
    return edit.removed, edit.added


@pytest.mark.parametrize(
    "origin",
    ["https://shop.test", "HTTPS://Shop.test", "https://a.shop.test:8080", "https://a-1.shop.test:8080", "null"],
)
def test_an_allowed_origin_is_sent_back_as_it_came(origin: str) -> None:
    assert allowed(SHOP, f"Origin: {origin}") == origin.encode()


@pytest.mark.parametrize(
    "origin",
    [
        "https://shop.test.evil.test",
        "evilhttps://shop.test",
        "https://evil.test/https://shop.test",
        "http://shop.test",
        "https://shop.test:8080",
        "https://shopxtest",
        "https://a.b.shop.test:8080",
        "https://.shop.test:8080",
        "https://shop.test:8080",
        "https://a.shop.test",
        "https://a_b.shop.test:8080",
        "https://a%0d%0aX: 1.shop.test:8080",
        "*",
        "",
    ],
)
def test_another_origin_is_not_allowed(origin: str) -> None:
    assert allowed(SHOP, f"Origin: {origin}") is None


def test_everybody_is_allowed_by_a_star_also_without_an_origin() -> None:
    assert allowed(("*",)) == b"*"
    assert allowed(("*",), "Origin: https://a.test") == b"*"
    assert allowed(SHOP) is None
    assert allowed((), "Origin: https://a.test") is None


@given(st.text("htps:/.a*-1\x00", max_size=30))
def test_a_star_stands_for_exactly_one_label(origin: str) -> None:
    request = question_of("http://web.test/", []).request
    head = msgspec.structs.replace(request, fields=((b"origin", origin.encode()),))
    label = origin.removeprefix("https://").removesuffix(".a")
    is_one = origin == f"https://{label}.a" and label != "" and set(label) <= set("htpsa-1")
    assert (Origins(("https://*.a",)).allowed(head) is not None) is is_one


def test_the_fields_of_an_allowed_origin_replace_those_of_the_endpoint_and_of_others() -> None:
    given = HeadEdit(frozenset((b"server",)), ((b"access-control-max-age", b"1"), (b"X-A", b"1")))
    removed, added = edited(SHOP, "null", given=given)
    assert removed == {b"server", b"access-control-allow-origin", b"access-control-max-age"}
    assert added == (
        (b"X-A", b"1"),
        VARY,
        (b"Access-Control-Allow-Origin", b"null"),
        (b"Access-Control-Max-Age", b"5"),
    )


def test_the_response_to_another_origin_keeps_its_fields_and_says_that_it_varies() -> None:
    own = ((b"access-control-allow-origin", b"https://b.test"),)
    assert edited(SHOP, "https://b.test", own=own) == (frozenset(), (VARY,))


@pytest.mark.parametrize("vary", [b"Origin", b"Cookie, origin", b"*"])
def test_a_vary_that_says_it_already_is_enough(vary: bytes) -> None:
    assert edited(SHOP, "https://b.test", own=((b"vary", vary),)) == (frozenset(), ())


def test_a_response_for_everybody_does_not_vary() -> None:
    _, added = edited(("*",), "https://b.test")
    assert VARY not in added


def test_the_edit_for_one_origin_is_made_once_and_never_serves_another() -> None:
    editor, before, response = (
        CorsEditor(CorsFields(("https://*.shop.test",), ())),
        HeadEdit(),
        ResponseHead(200, (), 0, b""),
    )

    def edit_for(origin: str) -> HeadEdit:
        return editor.edit(question_of("http://web.test/", [f"Origin: {origin}"]).request, PEER, response, before)

    assert edit_for("https://a.shop.test") is edit_for("https://a.shop.test")
    for origin in ("https://b.shop.test", "https://evil.test", "https://a.shop.test"):
        told = dict(edit_for(origin).added).get(b"Access-Control-Allow-Origin")
        assert told == (None if "evil" in origin else origin.encode())

"""Options about CORS: how each is read, and that nothing invalid becomes `*`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.settings.table.cors import CORS_OPTIONS, OriginList, allows_credentials, origins
from ingress.settings.values import InvalidValue

GRAMMAR = {option.name: option.grammar for option in CORS_OPTIONS}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", OriginList(("*",))),
        ("   ", OriginList(("*",))),
        ("*", OriginList(("*",))),
        ("https://a.test, *", OriginList(("*",))),
        ("https://a.test:8080,http://*.b.test", OriginList(("https://a.test:8080", "http://*.b.test"))),
        ("null, tauri://localhost:3000", OriginList(("null", "tauri://localhost:3000"))),
        ("https://a.test,,https://a.test,", OriginList(("https://a.test",))),
        ("a.test:8080, https://b.test", OriginList(("https://b.test",), ("a.test:8080",))),
        ("https://good.test;https://other.test", OriginList((), ("https://good.test;https://other.test",))),
        ("https://*", OriginList((), ("https://*",))),
        ("https://a.*.test", OriginList((), ("https://a.*.test",))),
        ("https://**.test", OriginList((), ("https://**.test",))),
        ("https://a.test/", OriginList((), ("https://a.test/",))),
        ("https://a.test\r\nX: 1", OriginList((), ("https://a.test\r\nX: 1",))),
        ("(.*)", OriginList((), ("(.*)",))),
    ],
)
def test_a_list_of_origins(text: str, expected: OriginList) -> None:
    assert origins(text) == expected


@given(st.text())
def test_only_a_star_or_blank_text_is_everybody(text: str) -> None:
    stars = "*" in [item.strip() for item in text.split(",")]
    assert (origins(text).allowed == ("*",)) is (stars or not text.strip())


def test_a_list_of_origins_is_bounded() -> None:
    many = origins(",".join(f"https://h{number}.test" for number in range(300)))
    assert (len(many.allowed), len(many.skipped)) == (200, 100)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cors-allow-methods", "PUT"),
        ("cors-allow-methods", "GET, PUT"),
        ("cors-allow-headers", "DNT,X-A_b"),
        ("cors-expose-headers", "*, X-A"),
    ],
)
def test_a_list_is_kept_as_it_is(name: str, text: str) -> None:
    assert GRAMMAR[name](f" {text}\n") == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cors-allow-methods", "GET;"),
        ("cors-allow-methods", "*"),
        ("cors-allow-headers", "X-A\r\nSet-Cookie: a=b"),
        ("cors-allow-headers", "X-A: 1"),
        ("cors-allow-headers", "X," * 3000),
        ("cors-expose-headers", "X\n\nY"),
        ("cors-max-age", "1d"),
        ("cors-max-age", "-2"),
    ],
)
def test_what_could_break_a_field_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidValue):
        GRAMMAR[name](text)


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("F", False), ("", True), ("no", None), ("off", None)])
def test_credentials_are_never_allowed_by_mistake(text: str, expected: bool | None) -> None:
    assert allows_credentials(text) is expected

"""What a request to an endpoint may carry: the host and path of a check, its fields, and a virtual host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.settings.request_values import check_fields, check_host, check_path, kept_fields, virtual_host
from ingress.settings.values import InvalidValue


@pytest.mark.parametrize("text", ["/well?now", "tcp", "grpc", "grpc:shop.v1.Cart", ""])
def test_a_path_is_asked_as_it_is_written(text: str) -> None:
    assert check_path(text) == text


@pytest.mark.parametrize("text", ["well", "/a b", "/a\r\nX: y", "TCP", "/\u00e9", "grpc:", "grpcs", "grpc:a b"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        check_path(text)


@pytest.mark.parametrize(
    "text", ["", "$host", "cart.test\r\nX: y", "cart.test:", "cart.test:http", "cart.test/x", "cart.test:123456"]
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        virtual_host(text)


@pytest.mark.parametrize("text", ["cart.test", "Cart.test:8080", "10.0.0.1"])
def test_a_virtual_host_is_sent_as_it_is_written(text: str) -> None:
    assert virtual_host(text) == text


def test_the_host_of_a_check_may_be_empty() -> None:
    assert (check_host(""), check_host("cart.test:81")) == ("", "cart.test:81")
    with pytest.raises(InvalidValue):
        check_host("cart test")


def test_fields_stand_on_lines_of_their_own() -> None:
    text = "X-Probe: a: b\n\n  Authorization:Bearer c  \r\n"
    assert check_fields(text) == (("X-Probe", "a: b"), ("Authorization", "Bearer c"))
    assert check_fields("") == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("X-A", "lines"),
        ("X A: b", "lines"),
        ("X-A:", "lines"),
        ("X-A: \u00e9", "lines"),
        ("Host: cart.test", "Host"),
        ("transfer-encoding: chunked", "transfer-encoding"),
        ("Proxy: a", "Proxy"),
        ("X-A: b\nx-a: c", "x-a comes twice"),
        ("\n".join(f"X-{number}: a" for number in range(21)), "at most 20"),
    ],
)
def test_a_field_that_must_not_be_sent_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidValue, match=problem):
        check_fields(text)


def test_no_error_repeats_a_value() -> None:
    for text in ("Host: secret", "X-A: b\nX-A: secret", "X-A: secret\u00e9"):
        with pytest.raises(InvalidValue) as error:
            check_fields(text)
        assert "secret" not in str(error.value)


@given(st.text())
def test_whatever_is_written_is_refused_or_fits_on_a_line(text: str) -> None:
    try:
        fields = check_fields(text)
    except InvalidValue:
        return
    for name, value in fields:
        assert (name + value).isascii()
        assert not set(name + value) & set("\r\n\0")


def test_names_of_kept_fields_are_in_lower_case_and_sorted() -> None:
    assert kept_fields(" X-Forwarded-User, True-Client-IP,x-forwarded-user,") == ("true-client-ip", "x-forwarded-user")
    assert kept_fields("") == ()


@pytest.mark.parametrize(
    "text",
    ["X_Forwarded_User", "a b", "x-forwarded-for", "X-Real-IP", "ssl-client-cert", "Proxy", "x.a", "a;b", "\u00e9"],
)
def test_what_only_the_proxy_may_say_is_not_kept(text: str) -> None:
    with pytest.raises(InvalidValue):
        kept_fields(text)

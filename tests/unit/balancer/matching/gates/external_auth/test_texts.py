"""Text with variables: what each means, what is unknown, and that no value breaks out of a URL."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.gates.external_auth.texts import compile_asked_text, escaped, safe
from balancer.matching.variables import UnknownVariable
from tests.unit.balancer.matching.gates.external_auth.asking import asked


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", b""),
        ("plain/text?a=b", b"plain/text?a=b"),
        ("$scheme://$http_host$request_uri", b"http://shop.test:81/a/b?c=d&e"),
        ("${host}-$remote_addr", b"shop.test-192.0.2.1"),
        ("$best_http_host", b"shop.test:81"),
        ("$escaped_request_uri", b"%2Fa%2Fb%3Fc%3Dd%26e"),
        ("$request_method $args $query_string$is_args", b"GET c=d&e c=d&e?"),
        ("$arg_c$cookie_s$http_x_thing$http_x_missing", b"d1yes"),
        ("$pass_port $server_port $pass_access_scheme", b"80 80 http"),
    ],
)
def test_the_value_of_a_text(text: str, value: bytes) -> None:
    fields = ((b"cookie", b"s=1"), (b"x-thing", b"yes"))
    assert compile_asked_text(text)(asked(b"/a/b?c=d&e", host=b"shop.test:81", fields=fields)) == value


def test_the_scheme_of_the_connection_and_that_of_the_client_may_differ() -> None:
    text = compile_asked_text("$scheme $pass_access_scheme $pass_port")
    assert text(asked(secure=True)) == b"https https 443"
    assert text(asked(port=443)) == b"http https 443"  # the load balancer ended TLS


def test_there_is_no_query_without_arguments() -> None:
    assert compile_asked_text("[$is_args$args]")(asked(b"/a")) == b"[]"


@pytest.mark.parametrize("text", ["$nothing", "a$", "$$host", "${host", "$http_connection"])
def test_an_unknown_variable(text: str) -> None:
    with pytest.raises(UnknownVariable):
        compile_asked_text(text)


def test_the_target_is_in_origin_form_whatever_the_client_sent() -> None:
    question = asked(b"/a")
    assert compile_asked_text("$request_uri")(question) == b"/a"


@given(st.binary())
def test_nothing_breaks_out_of_a_url(text: bytes) -> None:
    assert re.fullmatch(rb"[!-~]*", safe(text))
    assert b"#" not in safe(text)
    assert re.fullmatch(rb"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*", escaped(text))

"""How the values of options about auth services are read, and which are refused."""

from __future__ import annotations

import pytest

from ingress.settings import auth_values
from ingress.settings.auth_values import DEFAULT_CACHE_SECONDS
from ingress.settings.values import InvalidValue


@pytest.mark.parametrize(
    "text",
    [
        "http://auth.default.svc.cluster.local:8080/check",
        "https://$host/oauth2/auth",
        "https://${host}:8443/oauth2/auth",
        "HTTP://10.0.0.1/a?b=$escaped_request_uri&c=$http_x_a",
        "http://auth.$namespace.svc/$service_name/$location_path",
        "http://[2001:db8::1]:80/",
        "http://auth",
        "http://auth?uri=$request_uri",
        "http://auth/$scheme/$best_http_host$uri",
    ],
)
def test_urls_of_services(text: str) -> None:
    assert auth_values.url(f" {text}\n") == text


@pytest.mark.parametrize(
    "text",
    [
        "nonsense", "/check", "ftp://auth/", "http://", "http:///x", "http://user:secret@auth/", "http://auth/a b",
        "http://auth/\r\nX: y", "http://auth/é", "http://auth/#x", "http://a..b/", "http://auth:0/", "http://auth:65536/",
        "http://auth:http/", "http://$http_x_host/", "http://$arg_h/", "http://$remote_addr/", "http://auth/$nothing",
        "http://auth/$", 'http://auth/"', "http://auth/<x>", "http://auth/" + "a" * 2048,
    ],
)  # fmt: skip
def test_what_is_no_url_of_a_service(text: str) -> None:
    with pytest.raises(InvalidValue):
        auth_values.url(text)


def test_an_unknown_variable_in_the_host_of_a_service_is_named() -> None:
    with pytest.raises(InvalidValue, match="nope"):
        auth_values.url("http://$nope/")
    with pytest.raises(InvalidValue, match=r"only \$host may stand"):
        auth_values.url("http://$http_x/")


@pytest.mark.parametrize("text", ["https://$host/start?rd=$escaped_request_uri", "/login", "$scheme://$host/x"])
def test_pages(text: str) -> None:
    assert auth_values.page(text) == text


@pytest.mark.parametrize("text", ["login", "javascript:alert(1)", "https://login/a b", "https://login/\r\nX: y"])
def test_what_is_no_page(text: str) -> None:
    with pytest.raises(InvalidValue):
        auth_values.page(text)


def test_blank_texts_ask_for_nothing() -> None:
    readers = (auth_values.url, auth_values.page, auth_values.cache_key, auth_values.method, auth_values.text)
    assert {read(" ") for read in readers} == {""}
    assert (auth_values.parameter(""), auth_values.response_fields(" , ")) == ("rd", ())
    assert auth_values.cache_seconds("") == DEFAULT_CACHE_SECONDS
    assert auth_values.config_map_reference(" ") == ""


@pytest.mark.parametrize("text", ["BREW", "get", "CONNECT", "GET POST"])
def test_other_methods(text: str) -> None:
    assert auth_values.method("POST") == "POST"
    with pytest.raises(InvalidValue):
        auth_values.method(text)


def test_names_of_fields_are_each_named_once() -> None:
    assert auth_values.response_fields(" X-User,x-b , X-user,Authorization,") == ("X-User", "x-b", "Authorization")


@pytest.mark.parametrize(
    "text",
    ["X User", "X-\r\nUser", "é", "X:Y", "Host", "a,Content-Length", "transfer-encoding", "Connection", "X-Real-IP",
     "X-Forwarded-For", ",".join(f"x-{number}" for number in range(51))],
)  # fmt: skip
def test_fields_that_no_service_may_set(text: str) -> None:
    with pytest.raises(InvalidValue):
        auth_values.response_fields(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("200 202 10m, 401 1m", ((200, 600.0), (202, 600.0), (401, 60.0))),
        ("200 201 401 30m", ((200, 1800.0), (201, 1800.0), (401, 1800.0))),
        ("5m", ((200, 300.0), (301, 300.0), (302, 300.0))),
        ("200   500ms,", ((200, 0.5),)),
        ("200 1d, 200 5s", ((200, 86400.0), (200, 5.0))),
        ("200 0s", ((200, 0.0),)),
        ("200 999999999y", ((200, 315360000.0),)),
    ],
)
def test_times_of_a_cache(text: str, expected: tuple[tuple[int, float], ...]) -> None:
    assert auth_values.cache_seconds(text) == expected


@pytest.mark.parametrize("text", ["200 201", "20 5m", "any 5m", "200 5", "5m 200", "200 5m 6m", "200 5 m", "nonsense"])
def test_what_is_no_time_of_a_cache(text: str) -> None:
    with pytest.raises(InvalidValue):
        auth_values.cache_seconds(text)


@pytest.mark.parametrize("text", ["$nothing", "a b", "a/b", "$"])
def test_what_is_no_key_of_a_cache(text: str) -> None:
    assert auth_values.cache_key("$host-${cookie_s}_$namespace") == "$host-${cookie_s}_$namespace"
    with pytest.raises(InvalidValue):
        auth_values.cache_key(text)


@pytest.mark.parametrize("text", ["a/b/c", "A/b", "a/", "a b", "/b"])
def test_what_is_no_config_map(text: str) -> None:
    assert [auth_values.config_map_reference(each) for each in ("fields", "shop/fields")] == ["fields", "shop/fields"]
    with pytest.raises(InvalidValue):
        auth_values.config_map_reference(text)


@pytest.mark.parametrize(
    ("name", "value", "is_fine"),
    [
        ("X-Thing", "$host 1; a=b", True), ("X-Thing", "", True), ("Authorization", "Basic x", True),
        ("X Thing", "1", False), ("Host", "1", False), ("Content-Length", "1", False), ("X-A", "a\r\nb", False),
        ("X-A", "é", False), ("X-A", "$nothing", False), ("X-A", "a" * 3000, False),
    ],
)  # fmt: skip
def test_fields_for_a_service(name: str, value: str, is_fine: bool) -> None:
    assert (auth_values.field_problem(name, value) == "") is is_fine


def test_variables_of_a_path_are_filled_in_and_others_stay() -> None:
    assert auth_values.placed("$a-${b}$host", {"a": "1", "b": "2"}) == "1-2$host"

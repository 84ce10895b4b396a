"""Cookies say which backend they belong to, and go out with the attributes that were asked for."""

from __future__ import annotations

from hashlib import md5

import pytest

from balancer.matching.affinity import Stickiness, cookie_date, mark_of
from balancer.model.endpoints import BackendKey
from balancer.model.policies import Affinity
from tests.unit.balancer.matching.test_variables import request

CART = BackendKey("shop/cart:80")
NOW = 1_136_214_245.9  # Mon, 02 Jan 2006 15:04:05 GMT
KEY = b"1136214245.7.42"


def cookie_of(settings: Affinity, *, secure: bool = False, agent: str = "x") -> str:
    name, value = Stickiness(settings, CART).set_cookie(
        KEY, request=request(f"User-Agent: {agent}"), secure=secure, now_epoch_seconds=NOW
    )
    return f"{name.decode()}: {value.decode()}"


def test_the_mark_is_that_of_ingress_nginx() -> None:
    name = b"shop-cart-80"
    assert mark_of(CART) == md5(md5(name).hexdigest().encode() + name).hexdigest().encode()
    assert mark_of(CART) != mark_of(BackendKey("shop/cart:81"))
    assert mark_of(CART) == mark_of(BackendKey(f"https(verify,,shop/ca)#{CART}"))


def test_a_cookie_of_this_backend_gives_its_key_and_others_do_not() -> None:
    stickiness = Stickiness(Affinity(), CART)
    mine, foreign = mark_of(CART).decode(), mark_of(BackendKey("shop/pay:80")).decode()
    assert stickiness.key_in(request(f"Cookie: a=b; INGRESSCOOKIE=k|{mine}")) == b"k"
    assert stickiness.key_in(request(f"Cookie: INGRESSCOOKIE=k|{foreign}; INGRESSCOOKIE=l|{mine}")) == b"l"
    for value in (f"k|{foreign}", "k", "k|", f"|{mine}", "", f"k|{mine}|"):
        assert stickiness.key_in(request(f"Cookie: INGRESSCOOKIE={value}")) is None
    assert stickiness.key_in(request(f"Cookie: ingresscookie=k|{mine}")) is None
    assert stickiness.key_in(request()) is None


def test_a_plain_cookie_is_a_session_cookie_that_scripts_cannot_read() -> None:
    assert cookie_of(Affinity(path="/a")) == f"Set-Cookie: INGRESSCOOKIE={KEY.decode()}|{mark_of(CART).decode()}" + (
        "; Path=/a; HttpOnly"
    )


def test_every_attribute_is_said_once_and_in_its_place() -> None:
    settings = Affinity(
        cookie="route",
        path="/",
        domain="shop.test",
        expires_seconds=60,
        max_age_seconds=-1,
        same_site="strict",
        secure=True,
    )
    assert cookie_of(settings).split("; ")[1:] == [
        "Expires=Mon, 02-Jan-06 15:05:05 GMT",
        "Max-Age=-1",
        "Domain=shop.test",
        "Path=/",
        "Secure",
        "HttpOnly",
        "SameSite=strict",
    ]


def test_over_tls_a_cookie_is_always_secure() -> None:
    assert "; Secure" in cookie_of(Affinity(), secure=True)
    assert "; Secure" not in cookie_of(Affinity())


@pytest.mark.parametrize(
    ("agent", "spared"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/64.0.3282 Safari/537.36", True),
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/130.0 Safari/537.36", False),
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/400.0 Safari/537.36", False),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 12_4 like Mac OS X) Safari/604.1", True),
        ("Mozilla/5.0 (iPad; CPU OS 12_0 like Mac OS X) Safari/604.1", True),
        ("Mozilla/5.0 (iPad; CPU OS 13_0 like Mac OS X) Safari/604.1", False),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) Version/12.0 Safari/605.1", True),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) Chrome/120.0 Safari/537.36", False),
        ("", False),
    ],
)
def test_old_browsers_are_spared_a_none_that_they_misread(agent: str, spared: bool) -> None:
    conditional = Affinity(same_site="None", same_site_conditional=True)
    assert ("SameSite" not in cookie_of(conditional, agent=agent)) is spared
    assert "SameSite=None" in cookie_of(Affinity(same_site="None"), agent=agent)
    assert "SameSite=Lax" in cookie_of(Affinity(same_site="Lax", same_site_conditional=True), agent=agent)


def test_the_key_of_an_endpoint_depends_on_backend_and_endpoint() -> None:
    cart, pay = Stickiness(Affinity(), CART), Stickiness(Affinity(), BackendKey("shop/pay:80"))
    keys = {cart.persistent_key("10.0.0.1:80"), cart.persistent_key("10.0.0.2:80"), pay.persistent_key("10.0.0.1:80")}
    assert len(keys) == 3


@pytest.mark.parametrize(
    ("seconds", "date"),
    [
        (0.0, b"Thu, 01-Jan-70 00:00:00 GMT"),
        (NOW, b"Mon, 02-Jan-06 15:04:05 GMT"),
        (4_000_000_000.0, b"Tue, 02-Oct-2096 07:06:40 GMT"),
        (-5.0, b"Thu, 01-Jan-70 00:00:00 GMT"),
        (1e15, b"Fri, 31-Dec-9999 23:59:59 GMT"),
    ],
)
def test_dates_are_written_as_nginx_writes_them(seconds: float, date: bytes) -> None:
    assert cookie_date(seconds) == date


def test_a_header_field_stands_for_the_cookie() -> None:
    stickiness, mark = Stickiness(Affinity("X-Sid", in_header=True), CART), mark_of(CART).decode()
    assert stickiness.key_in(request(f"x-sid: k|{mark}")) == b"k"
    assert stickiness.key_in(request(f"X-Sid: other|mark, k|{mark}")) is None
    assert stickiness.key_in(request("X-Sid: other", f"X-Sid: k|{mark}")) == b"k"
    assert stickiness.key_in(request(f"Cookie: X-Sid=k|{mark}")) is None
    assert cookie_of(Affinity("X-Sid", in_header=True), secure=True) == f"X-Sid: {KEY.decode()}|{mark}"

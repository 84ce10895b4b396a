"""Fields that every endpoint gets: their values, and what they take the place of."""

from __future__ import annotations

import pytest

from balancer.http.origin import Origin
from balancer.http.passing import passing
from balancer.http.streams import Outgoing
from balancer.http1.fields import endpoint_request_head
from balancer.matching.destinations import names_of
from balancer.matching.gates.verdicts import Asked
from balancer.matching.request_fields import RequestFields
from balancer.matching.variables import UnknownVariable
from balancer.model.entry_points import HTTP
from tests import builders
from tests.questions import question_of


def head_of(url: str, *fields: str, put: tuple[tuple[str, str], ...], underscores: bool = False) -> list[bytes]:
    """The lines of the head that the endpoint gets. `underscores`: names of the client may hold `_`."""
    request, origin = question_of(url, fields).request, Origin(peer="192.0.2.1", entry_point=HTTP)
    outgoing = Outgoing(request, origin, b"id", passing=passing(underscores))
    names = names_of(builders.branch())
    RequestFields(put).put_on(outgoing, Asked(request, origin, False), names, 1722470400.1236)
    return endpoint_request_head(outgoing).split(b"\r\n")


def test_a_field_takes_the_place_of_the_clients() -> None:
    lines = head_of("http://a.test/", "X-Using: client", "x-other: 1", put=(("X-Using", "zonal"),))
    assert [line for line in lines if line.lower().startswith(b"x-using")] == [b"X-Using: zonal"]
    assert b"x-other: 1" in [line.lower() for line in lines]


@pytest.mark.parametrize(
    "name", ["X-Forwarded-Proto", "x-forwarded-for", "X-Request-ID", "X-Forwarded-Host", "X-Real-IP"]
)
def test_a_field_takes_the_place_of_the_proxys_own(name: str) -> None:
    lines = head_of("http://a.test/", f"{name}: client", put=((name, "set"),))
    assert [line for line in lines if line.lower().startswith(name.lower().encode() + b":")] == [
        f"{name}: set".encode()
    ]


def test_a_field_takes_the_place_of_those_that_endpoints_take_for_it() -> None:
    put = (("X-Tenant-Id", "shop"),)
    lines = head_of("http://a.test/", "X_Tenant-Id: evil", "x_other: 1", put=put, underscores=True)
    assert not [line for line in lines if b"evil" in line]
    assert b"X-Tenant-Id: shop" in lines
    assert b"x_other: 1" in [line.lower() for line in lines]


def test_an_empty_value_removes_the_field() -> None:
    lines = head_of("http://a.test/", "X-A: 1", "X-B: 2", put=(("X-A", ""), ("X-B", "$http_missing"), ("X-C", "c")))
    assert not [line for line in lines if line.lower().startswith((b"x-a", b"x-b"))]
    assert b"X-C: c" in lines


def test_values_hold_variables() -> None:
    put = (("X-Real", "$remote_addr"), ("X-Uri", "${scheme}://$host$request_uri"))
    lines = head_of("http://a.test/a?b=c", put=put)
    assert b"X-Real: 192.0.2.1" in lines
    assert b"X-Uri: http://a.test/a?b=c" in lines


@pytest.mark.parametrize("text", ["t=${msec}", "t=$msec"])
def test_the_time_is_a_variable(text: str) -> None:
    assert b"X-Request-Start: t=1722470400.124" in head_of("http://a.test/", put=(("X-Request-Start", text),))
    with pytest.raises(UnknownVariable):
        RequestFields((("X-A", "$msecs"),))


def test_the_id_and_the_route_are_variables() -> None:
    put = (("X-Request-ID", "$req_id"), ("X-Where", "$namespace/$ingress_name/$service_name:${service_port}"))
    assert b"X-Request-ID: id" in head_of("http://a.test/", put=put)
    lines = head_of("http://a.test/", "X-Request-ID: mine", put=put)
    assert [line for line in lines if line.lower().startswith(b"x-request-id")] == [b"X-Request-ID: mine"]
    assert b"X-Where: shop/web/cart:80" in lines


@pytest.mark.parametrize("text", ["$", "a $ b", "$nothing", "${remote_addr"])
def test_what_is_no_variable_is_refused(text: str) -> None:
    with pytest.raises(UnknownVariable):
        RequestFields((("X-A", text),))


def test_a_decoded_path_breaks_no_line() -> None:
    lines = head_of("http://a.test/%0d%0aX-Evil:%201", put=(("X-Path", "$uri"),))
    assert b"X-Path: /%0D%0AX-Evil: 1" in lines
    assert not [line for line in lines if line.lower().startswith(b"x-evil")]


def test_the_request_line_and_the_host_stay() -> None:
    assert head_of("http://a.test/x", put=(("X-A", "1"),))[:2] == [b"GET /x HTTP/1.1", b"Host: a.test"]

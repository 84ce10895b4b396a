"""The copy of a request: where it goes, under which target and Host, and with which fields."""

from __future__ import annotations

import random

import msgspec
import pytest

from balancer.http.streams import Outgoing
from balancer.matching.mirroring import MIRROR_URL, BackendCopies, MirrorRequests, backend_copies_of
from balancer.model.edits import RequestEdit
from balancer.model.endpoints import BackendKey
from balancer.model.mirroring import BackendMirror, Mirroring
from tests import builders
from tests.questions import question_of
from tests.unit.balancer.matching.gates.external_auth.asking import asked


def requests(target: str, *, allow_local: bool = True, with_body: bool = True) -> MirrorRequests:
    return MirrorRequests(Mirroring(target, "mirror.test", with_body=with_body, allow_local=allow_local))


@pytest.mark.parametrize(
    ("target", "sent"),
    [
        ("http://m.test/mirror", b"/mirror?b=c"),
        ("http://m.test/mirror?x=y", b"/mirror?x=y&b=c"),
        ("http://m.test", b"/a?b=c"),
        ("http://m.test$request_uri", b"/a?b=c"),
        ("http://m.test/x$request_uri", b"/x/a?b=c"),
        ("http://m.test/x?of=$host", b"/x?of=shop.test"),
        ("http://m.test?x=y", b"/?x=y&b=c"),
    ],
)
def test_the_target_of_a_copy(target: str, sent: bytes) -> None:
    assert requests(target).copy_of(asked(b"/a?b=c")).target == sent


def test_a_copy_goes_to_the_mirror_under_its_host() -> None:
    copy = requests("HTTPS://[2001:db8::1]:8443/x").copy_of(asked(b"/a"))
    assert (copy.scheme, copy.authority, copy.host) == ("https", "[2001:db8::1]:8443", b"mirror.test")
    assert (copy.method, copy.body, copy.verify) == ("GET", b"", False)


def test_a_copy_has_the_fields_of_the_client_but_not_those_that_only_zonal_may_say() -> None:
    fields = (
        (b"x-t", b"1"),
        (b"cookie", b"a=b"),
        (b"x-forwarded-for", b"spoofed"),
        (b"x!real!ip", b"spoofed"),
        (b"te", b"trailers"),
    )
    copy = requests("http://m.test").copy_of(asked(b"/", fields=fields))
    assert copy.fields[:2] == ((b"x-t", b"1"), (b"cookie", b"a=b"))
    assert {name for name, _ in copy.fields[2:]} == {b"X-Real-IP", b"X-Forwarded-For", b"X-Zonal-Copy"}
    assert b"spoofed" not in {value for _, value in copy.fields}


def test_a_copy_is_not_copied() -> None:
    mirror = requests("http://m.test")
    copy = mirror.copy_of(asked(b"/"))
    assert mirror.is_due(asked(b"/").request)
    again = asked(b"/", fields=tuple((name.lower(), value) for name, value in copy.fields))
    assert not mirror.is_due(again.request)


def test_no_client_puts_anything_into_the_head_of_a_copy() -> None:
    copy = requests("http://m.test/x?of=$http_x_t").copy_of(asked(b"/", fields=((b"x-t", b"a b\tc#d\xff"),)))
    assert copy.target == b"/x?of=a%20b%09c%23d%FF"


@pytest.mark.parametrize(
    "url", ["ftp://m.test/", "http://", "http://$host/", "http://m.test:999999/", "m.test", "http://m.test/\r\nX: y"]
)
def test_what_is_no_url_of_a_mirror(url: str) -> None:
    assert MIRROR_URL.fullmatch(url) is None


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("[::1]", True),
        ("169.254.169.254", True),
        ("10.0.0.1", False),
        ("127.1", True),
        ("m.test", False),
    ],
)
def test_an_address_of_this_pod_or_its_cloud_is_told(host: str, local: bool) -> None:
    assert requests(f"http://{host}/", allow_local=False).may_send is not local


@pytest.mark.parametrize(("numerator", "denominator", "row"), [(3, 4, 4), (20, 100, 5), (35, 100, 20), (1, 3, 3)])
def test_of_each_row_of_requests_a_share_is_due_for_a_copy(numerator: int, denominator: int, row: int) -> None:
    request = question_of("http://shop.test/").request
    copies = BackendCopies(BackendMirror(BackendKey("shop/b:80"), "shop", numerator, denominator), ())
    chance = random.Random(1)
    rows = [[copies.is_due(request, chance.randrange) for _ in range(row)] for _ in range(50)]
    assert {sum(each) for each in rows} == {row * numerator // denominator}
    assert len({tuple(each) for each in rows}) > 2  # which ones is left to chance


@pytest.mark.parametrize(("numerator", "due"), [(0, False), (100, True)])
def test_none_and_all_requests_need_no_chance(numerator: int, due: bool) -> None:
    request = question_of("http://shop.test/").request
    copies = BackendCopies(BackendMirror(BackendKey("shop/b:80"), "shop", numerator, 100), ())
    assert {copies.is_due(request, lambda _: 0) for _ in range(9)} == {due}


def test_no_more_backends_get_copies_than_allowed() -> None:
    mirrors = tuple(BackendMirror(BackendKey(f"shop/b{number}:80"), "shop") for number in range(6))
    route = msgspec.structs.replace(builders.route(), mirrors=mirrors)
    assert [each.backend for each in backend_copies_of(route)] == [f"shop/b{number}:80" for number in range(4)]


def test_a_copy_for_a_backend_is_not_copied_whatever_its_route_edits() -> None:
    edits = (RequestEdit(remove=("x-zonal-copy", "cdn-loop", "x-a")),)
    copies = BackendCopies(BackendMirror(BackendKey("shop/b:80"), "shop"), edits)
    first = asked(b"/", fields=((b"cdn-loop", b"zonal"), (b"x-a", b"1")))
    copy = copies.copy_of(first, Outgoing(first.request, first.origin, b"id"), "192.0.2.1:80")
    names = [name.lower() for name, _ in copy.fields]
    assert (names.count(b"x-zonal-copy"), names.count(b"cdn-loop"), names.count(b"x-a")) == (1, 1, 0)
    again = asked(b"/", fields=tuple((name.lower(), value) for name, value in copy.fields))
    assert copies.is_due(first.request, lambda _: 0)
    assert not copies.is_due(again.request, lambda _: 0)

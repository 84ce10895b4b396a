"""Requests are copied when their body has passed, in bounded memory, and nothing of a copy reaches the request."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from balancer.http.messages import RequestHead
from balancer.http1.heads import RequestHeadReader
from balancer.matching.gates.external_auth.requests import AuthRequest
from balancer.matching.gates.verdicts import Asked
from balancer.matching.mirroring import MirrorRequests
from balancer.model.mirroring import Mirroring
from balancer.model.settings import ProxySettings
from balancer.proxy.bodies import KEPT_BODY_BYTES
from balancer.proxy.body_room import BodyRoom
from balancer.proxy.mirroring import HELD_BYTES, MIRRORED_BODY_BYTES, Mirrors
from balancer.proxy.spooling import SpooledBody
from tests.unit.balancer.matching.gates.external_auth.asking import asked

RULE = Mirroring("http://mirror.test/x", "mirror.test", allow_local=True)


class Sent:
    """Where copies go: they are remembered, and end when the test says so."""

    def __init__(self, room: int = 1000) -> None:
        self.copies: list[AuthRequest] = []
        self.endings: list[Callable[[], None]] = []
        self.dropped = 0
        self._room = room
        self.mirrors = Mirrors(self, self._drop)

    def send(self, copy: AuthRequest, ended: Callable[[], None]) -> bool:
        if len(self.copies) >= self._room:
            return False
        self.copies.append(copy)
        self.endings.append(ended)
        return True

    def _drop(self) -> None:
        self.dropped += 1


def post(length: int | None) -> Asked:
    framing = b"Transfer-Encoding: chunked" if length is None else b"Content-Length: %d" % length
    head: RequestHead = RequestHeadReader(ProxySettings()).read(
        b"POST /a HTTP/1.1\r\nHost: shop.test\r\n" + framing + b"\r\n\r\n"
    )
    return msgspec.structs.replace(asked(b"/"), request=head)


def requests(**changes: bool) -> MirrorRequests:
    return MirrorRequests(msgspec.structs.replace(RULE, **changes))


def test_a_request_without_a_body_is_copied_at_once() -> None:
    sent = Sent()
    assert sent.mirrors.begin(requests(), asked(b"/a?b")) is None
    assert [copy.target for copy in sent.copies] == [b"/x?b"]


def test_a_copy_with_a_body_leaves_when_the_body_has_passed() -> None:
    sent = Sent()
    body = sent.mirrors.begin(requests(), post(5))
    assert body is not None
    body.add(b"hel")
    body.drop()  # the answer has begun, so no other endpoint will get the body
    body.add(b"lo")
    assert (sent.copies, sent.mirrors.held_bytes) == ([], 5)
    body.end(())
    body.close()
    assert [copy.body for copy in sent.copies] == [b"hello"]
    assert sent.mirrors.held_bytes == 5
    sent.endings[0]()
    assert (sent.mirrors.held_bytes, sent.dropped) == (0, 0)


def test_a_body_is_kept_for_another_endpoint_as_ever() -> None:
    body = Sent().mirrors.begin(requests(), post(5))
    assert body is not None
    body.add(b"hello")
    assert (b"".join(body.pieces()), body.is_whole) == (b"hello", True)
    body.add(b"x" * KEPT_BODY_BYTES)
    assert not body.is_whole


def test_a_body_that_was_received_before_is_copied_at_once_and_goes_on() -> None:
    sent = Sent()
    for size in (5, MIRRORED_BODY_BYTES + 1):
        whole = SpooledBody(memory_bytes=10, room=BodyRoom(), tenant="shop")
        whole.keep(b"x" * size)
        assert sent.mirrors.begin(requests(), post(size), whole) is whole
        assert sent.mirrors.held_bytes == 5
    assert ([copy.body for copy in sent.copies], sent.dropped) == ([b"xxxxx"], 1)


def test_without_its_body_a_copy_leaves_at_once() -> None:
    sent = Sent()
    assert sent.mirrors.begin(requests(with_body=False), post(5)) is None
    assert [copy.body for copy in sent.copies] == [b""]


def test_several_copies_of_a_body_leave_when_it_has_passed_and_each_counts() -> None:
    sent = Sent()
    rule, other = (requests().copy_of(asked(target)) for target in (b"/a", b"/b"))
    body = sent.mirrors.copy((rule, other), post(5).request)
    assert body is not None
    body.add(b"hello")
    assert sent.mirrors.held_bytes == 10
    body.end(())
    assert [(copy.target, copy.body) for copy in sent.copies] == [(b"/x", b"hello"), (b"/x", b"hello")]
    for ended in sent.endings:
        ended()
    assert (sent.mirrors.held_bytes, sent.dropped) == (0, 0)


def test_two_copies_of_a_request_are_in_flight_at_once() -> None:
    sent = Sent()
    targets = [b"/a", b"/b", b"/c", b"/d"]
    copies = tuple(requests().copy_of(asked(b"/"))._replace(target=target) for target in targets)
    assert sent.mirrors.copy(copies, asked(b"/").request) is None
    assert [copy.target for copy in sent.copies] == targets[:2]
    sent.endings[1]()
    assert [copy.target for copy in sent.copies] == targets[:3]
    for ended in sent.endings[:1] + sent.endings[2:]:
        ended()
    assert ([copy.target for copy in sent.copies], sent.dropped) == (targets, 0)


def test_copies_that_wait_hold_their_bodies_and_leave_where_there_is_room() -> None:
    sent = Sent(room=3)
    copies = tuple(requests().copy_of(asked(b"/")) for _ in range(4))
    body = sent.mirrors.copy(copies, post(5).request)
    assert body is not None
    body.add(b"hello")
    body.end(())
    assert (len(sent.copies), sent.mirrors.held_bytes) == (2, 20)
    for place in range(3):
        sent.endings[place]()
    assert (len(sent.copies), sent.dropped, sent.mirrors.held_bytes) == (3, 1, 0)


def test_several_copies_of_a_body_that_breaks_off_are_all_dropped() -> None:
    sent = Sent()
    copies = tuple(requests().copy_of(asked(target)) for target in (b"/a", b"/b"))
    body = sent.mirrors.copy(copies, post(5).request)
    assert body is not None
    body.add(b"hel")
    body.close()
    assert (sent.copies, sent.dropped, sent.mirrors.held_bytes) == ([], 2, 0)


def test_nothing_to_copy_holds_no_body() -> None:
    assert Sent().mirrors.copy((), post(5).request) is None


def test_a_body_that_is_too_long_is_not_copied_whether_or_not_its_length_is_known() -> None:
    sent = Sent()
    assert sent.mirrors.begin(requests(), post(MIRRORED_BODY_BYTES + 1)) is None
    body = sent.mirrors.begin(requests(), post(None))
    assert body is not None
    body.add(b"x" * MIRRORED_BODY_BYTES)
    body.add(b"x")
    body.end(())
    assert (sent.copies, sent.dropped, sent.mirrors.held_bytes) == ([], 2, 0)


def test_a_body_that_does_not_come_to_its_end_is_not_copied() -> None:
    sent = Sent()
    body = sent.mirrors.begin(requests(), post(5))
    assert body is not None
    body.add(b"he")
    body.close()
    body.end(())
    assert (sent.copies, sent.dropped, sent.mirrors.held_bytes) == ([], 1, 0)


def test_the_copies_of_one_tenant_hold_half_of_the_bytes_and_leave_the_rest_to_others() -> None:
    sent = Sent()

    def copy(rule: Mirroring) -> None:
        body = sent.mirrors.begin(MirrorRequests(rule), post(None))
        assert body is not None
        body.add(b"x" * MIRRORED_BODY_BYTES)
        body.end(())

    most = HELD_BYTES // MIRRORED_BODY_BYTES // 2
    for _ in range(most + 3):
        copy(RULE)
    assert sent.mirrors.held_bytes == most * MIRRORED_BODY_BYTES
    assert sent.dropped == 3
    for _ in range(most // 2):
        copy(msgspec.structs.replace(RULE, tenant="modest"))
    assert sent.dropped == 3
    for ended in sent.endings:
        ended()
    assert sent.mirrors.held_bytes == 0


def test_a_copy_for_which_the_sender_has_no_room_is_dropped() -> None:
    sent = Sent(room=0)
    body = sent.mirrors.begin(requests(), post(1))
    assert body is not None
    body.add(b"x")
    body.end(())
    assert (sent.dropped, sent.mirrors.held_bytes) == (1, 0)


def test_no_copy_goes_to_an_address_of_this_pod() -> None:
    sent = Sent()
    local = MirrorRequests(Mirroring("http://127.0.0.1/", "x"))
    assert sent.mirrors.begin(local, asked(b"/")) is None
    assert sent.copies == []

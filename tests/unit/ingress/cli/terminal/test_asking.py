"""Admin ports are asked over real sockets, and whatever goes wrong is one printable line."""

from __future__ import annotations

import msgspec
import pytest

from ingress.cli.terminal.asking import ask_all, is_admin_url
from tests.unit.ingress.cli.terminal.documents import flow, overview
from tests.unit.ingress.cli.terminal.ports import admin_port, closed_url

DOCUMENT = overview(flows=(flow("zone-b", 3),))


def test_each_port_is_asked_for_the_parts_and_answers_keep_their_order() -> None:
    with admin_port(DOCUMENT) as one, admin_port(overview(at=7.0)) as other:
        answers = ask_all([one.url + "/", closed_url(), other.url], ("flows", "services"))
        assert one.asked == ["/debug/overview?parts=flows%2Cservices"]
    assert [answer.overview for answer in answers] == [DOCUMENT, None, overview(at=7.0)]
    assert [answer.problem for answer in answers] == ["", "connection refused", ""]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"only for loopback peers (see --debug-remote)\n", 403, "answers 403: only for loopback peers"),
        (b"404: Not Found", 404, "an older zonal"),
        (b"<html>", 200, "another version of zonal, or of another program"),
        (b'{"format": 1}', 200, "another version of zonal, or of another program"),
        (b"\x1b[2J\nbad", 500, r"answers 500: \x1b[2J bad"),
        (msgspec.json.encode(msgspec.structs.replace(DOCUMENT, format=2)), 200, "format 2, and this zonal reads 1"),
    ],
)
def test_what_a_port_says_instead_is_told(body: bytes, status: int, said: str) -> None:
    with admin_port(body=body, status=status) as port:
        (answer,) = ask_all([port.url], ("flows",))
    assert answer.overview is None
    assert said in answer.problem


def test_what_is_no_url_of_a_port_is_told_apart() -> None:
    assert is_admin_url("http://127.0.0.1:10254")
    assert not is_admin_url("127.0.0.1:10254")
    assert not is_admin_url("file:///etc/passwd")


def test_a_url_that_cannot_be_asked_is_told() -> None:
    (answer,) = ask_all(["http://[::1"], ("flows",))
    assert answer.problem

"""What a hook may return in place of letting a message pass."""

from __future__ import annotations

import pytest

from zonal_hooks import Deny, Reply


def test_a_refusal_is_403_by_itself() -> None:
    assert Deny().status == 403
    assert Deny(429).status == 429
    assert repr(Deny(401)) == "Deny(401)"


@pytest.mark.parametrize("status", [200, 302, 399, 600, 0, -1, "403", 403.0, True])
def test_a_refusal_is_an_error(status: int) -> None:
    with pytest.raises(ValueError, match="from 400 to 599"):
        Deny(status)


def test_a_reply_has_fields_and_a_body() -> None:
    reply = Reply(302, {"Location": "/away"}, "gone")
    assert (reply.status, reply.fields, reply.body) == (302, ((b"Location", b"/away"),), b"gone")
    assert Reply(200, [("a", "1"), ("a", "2")]).fields == ((b"a", b"1"), (b"a", b"2"))
    assert repr(reply) == "Reply(302)"


@pytest.mark.parametrize("status", [100, 101, 199, 600, "200", True])
def test_a_reply_is_a_final_response(status: int) -> None:
    with pytest.raises(ValueError, match="from 200 to 599"):
        Reply(status)


def test_a_reply_keeps_its_bounds() -> None:
    with pytest.raises(ValueError, match="65536 bytes"):
        Reply(200, body=b"x" * 65537)
    with pytest.raises(ValueError, match="64 fields"):
        Reply(200, [("a", "b")] * 65)
    with pytest.raises(ValueError, match="has no body"):
        Reply(204, body="x")
    with pytest.raises(ValueError, match="control characters"):
        Reply(200, {"a": "b\r\nc: d"})
    with pytest.raises(ValueError, match="must not write"):
        Reply(200, {"Content-Length": "0"})

"""What a call of a hook comes to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.zonal_hooks.test_messages import request
from zonal_hooks import Deny, Reply
from zonal_hooks.messages import Choice, Edits
from zonal_hooks.verdicts import (
    PASSED,
    Denied,
    Failed,
    InvalidAnswer,
    Passed,
    Replied,
    check,
    failure_of,
    verdict_of,
)


def test_a_hook_that_says_nothing_lets_pass() -> None:
    assert verdict_of(None, request()) is PASSED


def test_edits_and_the_choice_go_with_the_message() -> None:
    asked = request()
    asked.allow_choice()
    asked.set_header("x-a", "1")
    asked.set_canary(True)
    said = verdict_of(None, asked)
    assert said == Passed(Edits(frozenset({b"x-a"}), ((b"x-a", b"1"),)), Choice(canary=True))


def test_an_answer_is_an_answer() -> None:
    assert verdict_of(Deny(401), request()) == Denied(401)
    assert verdict_of(Reply(302, {"Location": "/"}), request()) == Replied(302, ((b"Location", b"/"),), b"")


@pytest.mark.parametrize("returned", [False, True, 0, 403, "no", Deny, Reply, iter(()), object()])
def test_anything_else_is_no_answer(returned: Any) -> None:
    with pytest.raises(InvalidAnswer, match="neither None, Deny nor Reply"):
        verdict_of(returned, request())


def changed(answer: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(answer, name, value)
    return answer


@pytest.mark.parametrize(
    "returned",
    [
        changed(Deny(403), status=200),
        changed(Deny(403), status="403"),
        changed(Reply(200), status=101),
        changed(Reply(200), fields=((b"a", b"b\r\nc: d"),)),
        changed(Reply(200), fields=((b"transfer-encoding", b"chunked"),)),
        changed(Reply(200), fields=(("a", "b"),)),
        changed(Reply(200), fields=((b"a", b"b"),) * 65),
        changed(Reply(200), body=b"x" * 65537),
        changed(Reply(200), body="x"),
        changed(Reply(200, {}, "x"), status=204),
        changed(Reply(200, {}, "x"), status=304),
    ],
)
def test_an_answer_that_was_bent_after_it_was_made_is_none(returned: Any) -> None:
    with pytest.raises(InvalidAnswer):
        verdict_of(returned, request())


@pytest.mark.parametrize(
    "verdict",
    [
        Passed(Edits(frozenset(), ((b"x\n", b""),))),
        Passed(Edits(frozenset((b"host",)))),
        Passed(Edits(frozenset(), ((b"a", b"x" * 8000), (b"b", b"x" * 8000), (b"c", b"x" * 8000)))),
        Passed(choice=Choice(zone_policy="adaptive")),
        Passed(choice=Choice(affinity_key="")),
    ],
)
def test_what_another_process_says_is_checked(verdict: Passed) -> None:
    with pytest.raises(InvalidAnswer):
        check(verdict)


def test_an_exception_is_told_with_the_line_of_the_hooks_own_file() -> None:
    source = "import json\ndef request(r):\n    help()\n\ndef help():\n    json.loads('{')\n"
    found: dict[str, Any] = {}
    exec(compile(source, "sick.py", "exec"), found)
    with pytest.raises(ValueError) as raised:
        found["request"](None)
    error = raised.value.with_traceback(raised.value.__traceback__.tb_next)  # type: ignore[union-attr]
    assert failure_of(error).why.endswith(" (line 6)")


def test_an_exception_is_told_in_one_line() -> None:
    class Silent(BaseException):
        def __str__(self) -> str:
            raise KeyboardInterrupt

    assert failure_of(ValueError("a\nb")) == Failed("raised", "ValueError: a b")
    assert failure_of(Silent()) == Failed("raised", "Silent: ")
    assert failure_of(InvalidAnswer("x")).outcome == "invalid"
    assert len(failure_of(ValueError("x" * 5000)).why) < 250

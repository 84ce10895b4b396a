"""What a call of a hook comes to, as values that travel between processes."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from zonal_hooks.answers import BODY_BYTES_MOST, FIELDS_MOST, Deny, Reply
from zonal_hooks.headers import Field, checked_name, checked_value
from zonal_hooks.messages import (
    AFFINITY_KEY_CHARACTERS_MOST,
    EDITED_BYTES_MOST,
    NO_CHOICE,
    ZONE_POLICIES,
    Choice,
    Edits,
    Message,
    folded,
)

_OWN_FOLDER: Final = __file__.rpartition("/")[0]
_NO_EDITS = Edits()
_WITHOUT_BODY = (204, 205, 304)  # RFC 9110 6.4.1, 15.3.6


class InvalidAnswer(Exception):
    """A hook returned what is no answer."""


class Passed(msgspec.Struct, frozen=True, tag="passed"):
    """The message goes on with `edits`; `choice` is that of a `pick` hook."""

    edits: Edits = _NO_EDITS
    choice: Choice = NO_CHOICE


class Denied(msgspec.Struct, frozen=True, tag="denied"):
    """The request is refused with this status."""

    status: int


class Replied(msgspec.Struct, frozen=True, tag="replied"):
    """The request is answered with this response."""

    status: int
    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The hook has no answer. `outcome` is a word for metrics, `why` is for the log."""

    outcome: str
    why: str = ""


Verdict = Passed | Denied | Replied | Failed

PASSED = Passed()
"""The message goes on as it is: one for all calls."""


def verdict_of(returned: Any, message: Message) -> Passed | Denied | Replied:
    """What a hook means by `returned`, which ends the edits of `message`. Raises `InvalidAnswer`.

    Edits of a message count only if it goes on.
    """
    edits, choice = message.take()
    if returned is None:
        if edits:
            return Passed(folded(edits), choice)
        return PASSED if choice is NO_CHOICE else Passed(_NO_EDITS, choice)
    if isinstance(returned, Deny):
        denied = Denied(returned.status)
        check(denied)
        return denied
    if isinstance(returned, Reply):
        replied = Replied(returned.status, returned.fields, returned.body)
        check(replied)
        return replied
    raise InvalidAnswer(f"it returned {type(returned).__name__}, which is neither None, Deny nor Reply")


def check(verdict: Passed | Denied | Replied) -> None:
    """Raises `InvalidAnswer` for a verdict that cannot be carried out, whoever made it."""
    if isinstance(verdict, Denied):
        _check(type(verdict.status) is int and 400 <= verdict.status <= 599, "a refusal has a status from 400 to 599")
    elif isinstance(verdict, Replied):
        _check(type(verdict.status) is int and 200 <= verdict.status <= 599, "a reply has a status from 200 to 599")
        _check(type(verdict.body) is bytes and len(verdict.body) <= BODY_BYTES_MOST, "the body of a reply is too long")
        _check(not verdict.body or verdict.status not in _WITHOUT_BODY, f"a reply of {verdict.status} has no body")
        _check_fields(verdict.fields)
    else:
        _check_fields(verdict.edits.added)
        _check_fields(tuple((name, b"") for name in verdict.edits.removed))
        _check_choice(verdict.choice)


def _check(holds: bool, problem: str) -> None:
    if not holds:
        raise InvalidAnswer(problem)


def _check_fields(fields: tuple[Field, ...]) -> None:
    _check(len(fields) <= FIELDS_MOST, f"a hook writes at most {FIELDS_MOST} fields")
    try:
        for name, value in fields:
            checked_name(name.decode("latin-1"))
            checked_value(value.decode("latin-1"))
    except (ValueError, TypeError, AttributeError) as problem:
        raise InvalidAnswer(str(problem)) from None
    size = sum(len(name) + len(value) for name, value in fields)
    _check(size <= EDITED_BYTES_MOST, f"a hook writes at most {EDITED_BYTES_MOST} bytes of fields")


def _check_choice(choice: Choice) -> None:
    _check(choice.zone_policy is None or choice.zone_policy in ZONE_POLICIES, "there is no such zone policy")
    key = choice.affinity_key
    _check(key is None or 0 < len(key) <= AFFINITY_KEY_CHARACTERS_MOST, "the affinity key is empty or too long")


def failure_of(error: BaseException) -> Failed:
    """What an exception of a hook comes to."""
    if isinstance(error, InvalidAnswer):
        return Failed("invalid", str(error))
    try:
        text = str(error)
    except BaseException:
        text = ""
    return Failed("raised", f"{type(error).__name__}: {text[:200]}{_place_of(error)}".replace("\n", " "))


def _place_of(error: BaseException) -> str:
    """The line of the hook's file that raised it or called what did; empty if none is known."""
    at, file, line = error.__traceback__, "", 0
    while at is not None:
        name = at.tb_frame.f_code.co_filename
        if not file and not name.startswith(_OWN_FOLDER):  # the first frames are those of who called the hook
            file = name
        if name == file:
            line = at.tb_lineno
        at = at.tb_next
    return f" (line {line})" if file else ""

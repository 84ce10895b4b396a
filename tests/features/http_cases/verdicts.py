"""The verdict on a case: what is wrong with what was seen of it in all its ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.features.http_cases.accepts import ACCEPTS
from tests.features.http_cases.checks import Check, clean_request_is_served
from tests.features.http_cases.forbids import FORBIDS
from tests.features.http_cases.playing import Play

# Its own `accept` says that what follows a refused upgrade is a request in its own right.
_SMUGGLED_IS_A_REQUEST = frozenset({"UPG-03"})
_LOGGED_ONLY = frozenset({499})


def problems_of(plays: Sequence[Play], *, instead: Check | None = None) -> list[str]:
    """Everything that is wrong, as sentences; none: the case passes. `instead` stands in for `accept` and `status`."""
    problems = [f"{play.way.value}: {problem}" for play in plays for problem in _problems_of_play(play, instead)]
    kinds = {outcome(play) for play in plays}
    return problems if len(kinds) == 1 else [*problems, f"the outcome depends on the cuts: {sorted(map(str, kinds))}"]


def outcome(play: Play) -> tuple[str, tuple[int, ...]]:
    """The class of an outcome, which no cut may change.

    A response refused with 502, or cut short because its head had already gone on, is one class (the file's reject).
    """
    statuses = tuple(response.status for response in play.responses)
    if play.case.side == "response" and (statuses == (502,) or not all(each.complete for each in play.responses)):
        return "refused", ()
    if not statuses:
        return "closed" if play.ended != "open" else "silent", statuses
    return "answered" if all(response.complete for response in play.responses) else "cut short", statuses


def _problems_of_play(play: Play, instead: Check | None) -> list[str]:
    case = play.case
    problems = [f"forbidden: {problem}" for problem in _found(FORBIDS, case.forbid, play)]
    accepted = _found(ACCEPTS, case.accept, play)
    if instead is not None:
        problems += [problem for problem in [instead(play)] if problem]
    else:
        problems += _wrong_statuses(play)
        if len(accepted) == len(case.accept):
            problems += [f"not accepted: {problem}" for problem in accepted]
    problems += [f"smuggled: {problem}" for problem in [_smuggled(play)] if problem]
    return problems + [problem for problem in [clean_request_is_served(play)] if problem]


def _found(table: Mapping[str, Check], texts: Sequence[str], play: Play) -> list[str]:
    found = []
    for text in texts:
        assert text in table, f"no check for the text {text!r}"
        problem = table[text](play)
        if problem is not None:
            found.append(f"{text}: {problem}")
    return found


def _wrong_statuses(play: Play) -> list[str]:
    allowed = play.case.status
    seen = [message.status for message in play.responses]
    if allowed and set(allowed) <= _LOGGED_ONLY:
        logged = [line["status"] for line in play.access]
        return [] if not seen and logged == allowed else [f"answered {seen}, logged {logged}"]
    return [f"status {status} is not among {allowed}" for status in seen if allowed and status not in allowed]


def _smuggled(play: Play) -> str | None:
    """The fixture's rule: no request for /smuggled at any endpoint, and no second response."""
    if play.case.id in _SMUGGLED_IS_A_REQUEST or "/smuggled" not in _text(play):
        return None
    if any(request.target.startswith(b"/smuggled") for _, request in play.requests) or b"/smuggled" in play.stray:
        return "a request for /smuggled reached an endpoint"
    return "a second response" if len(play.responses) > 1 else None


def _text(play: Play) -> str:
    return (play.case.raw or "") + str(play.case.parts or "")

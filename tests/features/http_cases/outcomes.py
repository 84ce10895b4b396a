"""The larger checks that `accept` texts need: what several requests, answers or bytes of a case look like together.

Single facts are in `checks`; which text asks for which check is in `accepts`.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from tests.features.http_cases.cases import (
    Send,
)
from tests.features.http_cases.checks import (
    Check,
    announced_close,
    answered_once,
    clean_request_is_served,
    connection_ended,
    ended_within_deadlines,
    endpoint_released,
    every,
    forwarded_and,
    message_has,
    message_lacks,
    not_reused,
    one_request,
    rejected,
    response_status,
)
from tests.features.http_cases.playing import (
    FIN_SECONDS,
    TUNNEL_DATA,
    Play,
)

GZIP = bytes.fromhex("1f8b0800000000000003cb48cdc9c9070086a6103605000000")
BOMB = "bomb-10MB-to-10GB.gz"
CONNECTION_MEMORY_BYTES = 256 * 1024
FORWARDED_FIELDS = (b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-port", b"x-real-ip")


def peer_only(play: Play) -> str | None:
    return message_has(b"x-forwarded-for", play.address.encode())(play)


def answered_in_order(count: int, *targets: bytes) -> Check:
    """So many whole answers, each to the request of its place, from one request each."""

    def check(play: Play) -> str | None:
        seen = [response.value(b"x-target") for response in play.responses]
        if len(seen) != count or not all(response.complete for response in play.responses):
            return f"{len(seen)} answers in place of {count}"
        if targets and seen != list(targets):
            return f"answers in the order {seen}"
        return None if len(play.requests) == count and not play.stray else f"{len(play.requests)} requests at endpoints"

    return check


def one_interpretation(play: Play) -> str | None:
    """Refused, or the protected Service saw it exactly if any reading of the target leads under its path."""
    if rejected(play) is None:
        return None
    problem = every(answered_once, one_request)(play)
    if problem is not None:
        return problem
    visit, request = play.requests[0]
    protected = any(path == b"/admin" or path.startswith(b"/admin/") for path in readings(request.target))
    return None if protected == (visit.service == "svc-admin") else f"{visit.service} resolves {request.target!r}"


def readings(target: bytes) -> set[bytes]:
    """Each path that an endpoint may take a target for: dots removed (RFC 3986 5.2.4), decoded or not, `//` or `/`."""
    path = target.partition(b"?")[0]
    forms = {path, unquote_to_bytes(path)}
    forms |= {re.sub(rb"//+", b"/", form) for form in forms}
    return {without_dots(form) for form in forms}


def without_dots(path: bytes) -> bytes:
    kept: list[bytes] = []
    for segment in path.split(b"/")[1:]:
        if segment == b"..":
            del kept[-1:]
        elif segment != b".":
            kept.append(segment)
    return b"/" + b"/".join(kept)


def first_then_refused(play: Play) -> str | None:
    statuses = [response.status for response in play.responses]
    if statuses != [200, 400] or not play.responses[0].complete or len(play.requests) != 1:
        return f"answers {statuses}, requests {len(play.requests)}"
    return every(announced_close, connection_ended)(play)


def last_allowed_is_announced(play: Play) -> str | None:
    """Answered in order; the limit on requests of a connection closes it with notice and not before."""
    if len(play.responses) != 1000 or not all(response.complete for response in play.responses):
        return f"{len(play.responses)} answers"
    if any(response.ends_connection for response in play.responses[:-1]):
        return "an earlier answer announced the end"
    return every(announced_close, connection_ended)(play)


def endpoint_cancelled(play: Play) -> str | None:
    if not play.requests:
        return "the request never reached an endpoint"
    if any(visit.lost_at is None or visit.lost_at - play.stopped_at > FIN_SECONDS for visit in play.visits):
        return "the endpoint went on for more than a second"
    return not_reused(play)


def continued(play: Play) -> str | None:
    """A 100 before the final answer."""
    if [interim.status for interim in play.interims] != [100]:
        return f"interim answers {[interim.status for interim in play.interims]}"
    return every(one_request, answered_once, response_status(200))(play)


def tunnelled(play: Play) -> str | None:
    if [response.status for response in play.responses] != [101] or len(play.requests) != 1:
        return f"answers {[response.status for response in play.responses]}"
    data = TUNNEL_DATA[play.case.id]
    (visit,) = play.visits
    if bytes(visit.reader.tunnel or b"") != data or bytes(play.received.tunnel or b"") != data:
        return "the tunnel changed or lost bytes"
    return None


def tunnel_timed_out(play: Play) -> str | None:
    if [response.status for response in play.responses] != [101]:
        return f"answers {[response.status for response in play.responses]}"
    return every(ended_within_deadlines, endpoint_released)(play)


def refused_upgrade(play: Play) -> str | None:
    """The refusal is relayed; what follows was routed as a request of its own, or the connection was closed."""
    statuses = [response.status for response in play.responses]
    if statuses[:1] != [200] or play.received.tunnel is not None or play.stray:
        return f"answers {statuses}, stray {play.stray[:40]!r}"
    if len(statuses) == 1:
        return connection_ended(play)
    identifiers = {request.value(b"x-request-id") for _, request in play.requests}
    return None if len(play.requests) == len(statuses) == len(identifiers) == 2 else "the rest was not routed anew"


def discarded(play: Play) -> str | None:
    """One whole answer of the case; the next request went over another connection and was answered properly."""
    return every(answered_once, response_status(200), not_reused, clean_request_is_served)(play)


def removed(*names: bytes) -> Check:
    return forwarded_and(message_lacks(*names))


def log_is_clean(play: Play) -> str | None:
    """One line about it; that every line of the log is JSON was seen when it was read."""
    return None if len(play.access) == 1 else f"{len(play.access)} lines in the access log"


def has_one_line(play: Play) -> bool:
    return len(play.message.values(b"content-length" if play.case.side == "response" else b"expect")) == 1


def raw_value(play: Play) -> bytes:
    (step,) = play.case.steps
    assert isinstance(step, Send)
    return step.pieces[0].partition(b"X-Name: ")[2].partition(b"\r\n")[0]


def redirected(probe: Play | None) -> bool:
    assert probe is not None
    return (
        [response.status for response in probe.responses] == [302]
        and probe.responses[0].value(b"location") == b"http://victim.test/"
        and [visit.service for visit, _ in probe.requests] == ["svc-a"]
    )

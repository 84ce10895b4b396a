"""The words of the verdicts: each check takes what was seen and gives back what is wrong with it, or None.

Responsible for what single facts look like on the wire. Which case asks for which facts is in `accepts` and `forbids`.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.features.http_cases.backends import PAGE
from tests.features.http_cases.messages import Message
from tests.features.http_cases.playing import FIN_SECONDS, PATIENCE_SECONDS, Play

Check = Callable[[Play], str | None]

HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"upgrade", b"http2-settings", b"proxy-authenticate")
)
_REFUSING = range(400, 600)


def every(*checks: Check) -> Check:
    """All of them hold."""

    def check(play: Play) -> str | None:
        return next((problem for each in checks if (problem := each(play)) is not None), None)

    return check


def either(*checks: Check) -> Check:
    """At least one of them holds."""

    def check(play: Play) -> str | None:
        problems = [each(play) for each in checks]
        return None if None in problems else " / ".join(map(str, problems))

    return check


def holds(what: str, is_so: Callable[[Play], bool]) -> Check:
    """`is_so`; otherwise it is wrong that not `what`."""
    return lambda play: None if is_so(play) else f"not so: {what}"


# What became of the connection and the message as a whole.


def nothing_reached_an_endpoint(play: Play) -> str | None:
    return "bytes reached an endpoint" if play.requests or play.stray else None


def no_whole_request_reached_an_endpoint(play: Play) -> str | None:
    if play.stray or any(request.complete for _, request in play.requests):
        return "an endpoint took the message for a whole request"
    return None


def not_reused(play: Play) -> str | None:
    """The endpoint connections of the play were closed, by the proxy or by the script, and carried no later request."""
    assert play.clean is not None
    if any(not (visit.ended_by_proxy or visit.ended_by_script) for visit in play.visits):
        return "the endpoint connection was not closed by the proxy"
    if any(visit in play.visits for visit in play.clean.visits):
        return "the endpoint connection was used again"
    return None


def answered_once(play: Play) -> str | None:
    if len(play.responses) != 1 or not play.responses[0].complete or play.received.rubbish:
        statuses = [(response.status, response.complete) for response in play.responses]
        return f"not exactly one whole response: {statuses}, rubbish {play.received.rubbish[:60]!r}"
    return None


def connection_ended(play: Play) -> str | None:
    """Closed by the proxy with FIN, within a second of its last byte."""
    if play.ended != "fin":
        return f"the connection is {play.ended}"
    if play.responses and play.ended_at - play.answered_at > FIN_SECONDS:
        return "the connection stayed open for more than a second"
    return None


def announced_close(play: Play) -> str | None:
    return None if play.responses and play.responses[-1].ends_connection else "no Connection: close on the last answer"


def rejected(play: Play) -> str | None:
    """The vocabulary's reject: one refusal, Connection: close, FIN, and no whole message anywhere."""
    if play.case.side == "response":
        refused = every(answered_once, response_status(502), announced_close, connection_ended, not_reused)
        return either(refused, every(cut_short, not_reused))(play)  # cut short: the head had already gone on
    problem = every(answered_once, announced_close, connection_ended, no_whole_request_reached_an_endpoint)(play)
    if problem is None and play.responses[0].status not in _REFUSING:
        return "the answer is no refusal"
    return problem if problem is not None or not play.requests else not_reused(play)


def closed_without_answer(play: Play) -> str | None:
    if play.responses or play.received.rubbish:
        return "there was an answer"
    if play.ended == "open":
        return "the connection stayed open"
    return every(no_whole_request_reached_an_endpoint, not_reused)(play)


def forwarded(play: Play) -> str | None:
    """The vocabulary's forward-normalised; the strict reader has seen to line ends and framing."""
    if play.case.side == "response":
        problem = every(answered_once, holds("not refused", lambda play: play.responses[0].status != 502))(play)
        hops = HOP_BY_HOP - {b"connection"}
    else:
        problem = every(one_request, answered_once)(play)
        hops = HOP_BY_HOP
    if problem is None and (named := hops & {name for name, _ in play.message.fields}):
        return f"hop-by-hop fields were forwarded: {sorted(named)}"
    return problem


def one_request(play: Play) -> str | None:
    if len(play.requests) != 1 or play.stray or not play.requests[0][1].complete:
        return f"not exactly one whole request at the endpoints: {len(play.requests)}, stray {play.stray[:60]!r}"
    return None


def forwarded_and(*more: Check) -> Check:
    return every(forwarded, *more)


def answered_locally(*statuses: int) -> Check:
    """By the proxy itself, which no endpoint heard of."""
    return every(answered_once, nothing_reached_an_endpoint, response_status(*statuses))


def cut_short(play: Play) -> str | None:
    """The client can tell that its answer is not whole."""
    if len(play.responses) != 1 or play.responses[0].complete:
        return f"no answer that is cut short: {[(each.status, each.complete) for each in play.responses]}"
    return "the connection stayed open" if play.ended == "open" else None


def cut_short_by_reset(play: Play) -> str | None:
    problem = cut_short(play)
    return (
        problem
        if problem is not None or play.ended == "reset" or play.responses[0].framing != "close"
        else "a clean end"
    )


def ended_within_deadlines(play: Play) -> str | None:
    if play.ended == "open" or play.ended_at - play.started_at > PATIENCE_SECONDS * 2:
        return f"the connection is {play.ended} long after every deadline"
    return None


def endpoint_released(play: Play) -> str | None:
    if any(not visit.ended_by_proxy for visit in play.visits):
        return "the endpoint connection is still held"
    return None


def aborted_at_endpoint(play: Play) -> str | None:
    """What the endpoint saw of the request is not whole, and its connection was closed."""
    return every(no_whole_request_reached_an_endpoint, not_reused)(play)


def clean_request_is_served(play: Play) -> str | None:
    clean = play.clean
    assert clean is not None
    if [response.status for response in clean.responses] != [200] or clean.responses[0].body != PAGE:
        return "a clean request afterwards was not served"
    return None if clean.answered_at - clean.started_at < 1.0 else "a clean request afterwards took over a second"


# What the one message looks like.


def response_status(*statuses: int) -> Check:
    return holds(f"status {statuses}", lambda play: bool(play.responses) and play.responses[0].status in statuses)


def not_status(*statuses: int) -> Check:
    return holds(f"no status {statuses}", lambda play: all(each.status not in statuses for each in play.responses))


def message_has(name: bytes, *values: bytes) -> Check:
    """Wherever the message arrived, it has exactly these lines of `name`, in this order; none: no such field."""
    return holds(
        f"{name!r} is {values}", lambda play: all(tuple(each.values(name)) == values for each in arrived(play))
    )


def message_lacks(*names: bytes) -> Check:
    return every(*(message_has(name) for name in names))


def target_is(*targets: bytes) -> Check:
    return holds(f"target {targets}", lambda play: all(each.target in targets for each in arrived(play)))


def body_is(body: bytes) -> Check:
    return holds(f"body {body[:40]!r}", lambda play: all(bytes(each.body) == body for each in arrived(play)))


def framed_by(framing: str) -> Check:
    return holds(f"framing {framing}", lambda play: all(each.framing == framing for each in arrived(play)))


def served_by(service: str) -> Check:
    """Whatever reached an endpoint at all reached this Service."""
    return holds(f"only {service} saw it", lambda play: all(visit.service == service for visit, _ in play.requests))


def forwarded_without(text: bytes) -> Check:
    """No head, body or trailer that arrived holds `text`."""
    return holds(f"{text!r} did not go on", lambda play: all(text not in written(each) for each in arrived(play)))


def arrived(play: Play) -> list[Message]:
    """The hostile side's messages as they came out on the other side."""
    if play.case.side == "response":
        return [response for response in play.responses if response.status != 502]
    return [request for _, request in play.requests]


def written(message: Message) -> bytes:
    return message.head + bytes(message.body) + b"".join(name + value for name, value in message.trailers)


# What it cost.


def grew_at_most(size: int) -> Check:
    return holds(f"at most {size} bytes more in memory", lambda play: play.growth_bytes <= size)


def cpu_at_most(seconds: float) -> Check:
    return holds(f"at most {seconds} s of processor time", lambda play: play.proxy_cpu_seconds <= seconds)


def stalled_at_most(seconds: float) -> Check:
    return lambda play: (
        None if play.longest_stall_seconds <= seconds else f"a stall of {play.longest_stall_seconds:.3f} s"
    )

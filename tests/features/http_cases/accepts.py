"""What each `accept` text of the file asks for: the exact text and its one check.

A text that is not here fails its test, so a new case cannot pass unread.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.features.http_cases.backends import (
    PAGE,
)
from tests.features.http_cases.cases import (
    generated_file,
)
from tests.features.http_cases.checks import (
    Check,
    aborted_at_endpoint,
    announced_close,
    answered_locally,
    answered_once,
    body_is,
    closed_without_answer,
    connection_ended,
    cut_short,
    cut_short_by_reset,
    either,
    ended_within_deadlines,
    endpoint_released,
    every,
    forwarded,
    forwarded_and,
    framed_by,
    grew_at_most,
    holds,
    message_has,
    message_lacks,
    no_whole_request_reached_an_endpoint,
    not_reused,
    nothing_reached_an_endpoint,
    one_request,
    rejected,
    response_status,
    served_by,
    stalled_at_most,
    target_is,
)
from tests.features.http_cases.outcomes import (
    BOMB,
    CONNECTION_MEMORY_BYTES,
    FORWARDED_FIELDS,
    GZIP,
    answered_in_order,
    continued,
    discarded,
    endpoint_cancelled,
    first_then_refused,
    has_one_line,
    last_allowed_is_announced,
    log_is_clean,
    one_interpretation,
    peer_only,
    raw_value,
    redirected,
    refused_upgrade,
    removed,
    tunnel_timed_out,
    tunnelled,
)

ACCEPTS: Mapping[str, Check] = {
    "reject": rejected,
    "close": closed_without_answer,
    "forward-normalised": forwarded,
    # Content-Length
    "forward-normalised: exactly one Content-Length: 5": forwarded_and(message_has(b"content-length", b"5")),
    "forward-normalised: Content-Length: 5": forwarded_and(message_has(b"content-length", b"5")),
    "forward-normalised: decimal 10, emitted as 10": forwarded_and(
        message_has(b"content-length", b"10"), body_is(b"0123456789")
    ),
    "close: upstream request aborted (connection closed, never reused); client 400 or close within body timeout": every(
        aborted_at_endpoint,
        either(every(answered_once, announced_close), closed_without_answer),
        ended_within_deadlines,
    ),
    "forward-normalised: one upstream request, body hello; surplus discarded; client connection closed": forwarded_and(
        body_is(b"hello"), announced_close, connection_ended
    ),
    "forward-normalised: body forwarded as body with its length": forwarded_and(
        framed_by("length"), message_has(b"content-length", b"55"), served_by("svc-a")
    ),
    "reject: 413 when above max-body": every(rejected, response_status(413), nothing_reached_an_endpoint),
    # Transfer-Encoding and chunks
    "forward-normalised: single chunked, Content-Length removed, connection closed after response": forwarded_and(
        framed_by("chunked"), message_lacks(b"content-length"), announced_close, connection_ended
    ),
    "forward-normalised: chunked": forwarded_and(framed_by("chunked"), body_is(b"hello")),
    "forward-normalised: body forwarded and framed": forwarded_and(
        framed_by("chunked"), holds("80 bytes of body", lambda play: len(play.message.body) == 0x50)
    ),
    "forward-normalised: framing kept correct": forwarded_and(framed_by("chunked"), body_is(b"hello")),
    "forward-normalised: chunked only, Content-Length removed, client connection closed after response": forwarded_and(
        framed_by("chunked"), message_lacks(b"content-length"), announced_close, connection_ended
    ),
    "forward-normalised: re-chunked": forwarded_and(framed_by("chunked"), body_is(b"hello")),
    "forward-normalised: extension removed": forwarded_and(framed_by("chunked"), body_is(b"hello")),
    "close: upstream request aborted, not terminated with a zero chunk": every(
        aborted_at_endpoint,
        either(every(answered_once, announced_close), closed_without_answer),
        ended_within_deadlines,
    ),
    "forward-normalised: trailer kept as trailer or dropped": forwarded_and(
        message_lacks(b"x-checksum"),
        holds("X-Checksum: abc or nothing", lambda play: play.message.trailers in ([], [(b"x-checksum", b"abc")])),
    ),
    "forward-normalised: dropped": forwarded_and(
        holds("no trailer", lambda play: not play.message.trailers), message_has(b"host", b"app.test")
    ),
    # Lines and fields
    "forward-normalised: CRLF": forwarded,  # the strict reader takes nothing else
    "forward-normalised: one line, SP": forwarded_and(message_has(b"x-a", b"one two")),
    "forward-normalised: bytes unchanged": forwarded_and(
        holds("the value's bytes", lambda play: raw_value(play) in play.message.head)
    ),
    "forward-normalised: both lines in order": forwarded_and(message_has(b"content-type", b"text/plain", b"text/html")),
    "forward-normalised: X-M values in order 1,2": forwarded_and(message_has(b"x-m", b"1", b"2")),
    "forward-normalised: unchanged": forwarded_and(holds("the method", lambda play: play.message.method == b"FOOBAR")),
    # Targets and hosts
    "forward-normalised: origin-form /x, Host app.test": forwarded_and(
        target_is(b"/x"), message_has(b"host", b"app.test"), served_by("svc-a")
    ),
    "forward-normalised: route, ACL and forwarded Host all use victim.test": forwarded_and(
        served_by("svc-b"), message_has(b"host", b"victim.test"), message_has(b"x-forwarded-host", b"victim.test")
    ),
    "forward-normalised: target wins": forwarded_and(
        message_has(b"host", b"app.test:8080"), message_has(b"x-forwarded-host", b"app.test:8080"), served_by("svc-a")
    ),
    "forward-normalised: scheme taken from the connection": forwarded_and(message_has(b"x-forwarded-proto", b"http")),
    "forward-normalised: /?a=b": forwarded_and(target_is(b"/?a=b")),
    "forward-normalised: path //victim.test/x unchanged": forwarded_and(
        target_is(b"//victim.test/x"), served_by("svc-a"), message_has(b"host", b"app.test")
    ),
    "local: answer for the proxy itself": answered_locally(200, 204, 400, 404),
    "forward-normalised: *": forwarded_and(target_is(b"*"), served_by("svc-a")),
    "forward-normalised: fragment removed before routing": forwarded_and(target_is(b"/public"), served_by("svc-a")),
    "forward-normalised: percent-encoded": forwarded_and(target_is(b"/caf%C3%A9", b"/caf%c3%a9")),
    "forward-normalised: %0d%0a unchanged": forwarded_and(target_is(b"/a%0d%0aX-Evil:%201")),
    "local: default backend or 404/400": answered_locally(400, 404),
    "local: default backend": answered_locally(404),
    "local: 404": answered_locally(404),
    "forward-normalised: routed as app.test": forwarded_and(served_by("svc-a")),
    "forward-normalised: routed as app.test with the same TLS/auth policy": forwarded_and(served_by("svc-a")),
    # Paths
    "one interpretation: the path used for routing and auth equals the path the upstream resolves": one_interpretation,
    "case-sensitive match per Ingress; document it": forwarded_and(target_is(b"/ADMIN"), served_by("svc-a")),
    "auth applied": forwarded_and(served_by("svc-admin")),
    "routed on the literal": forwarded_and(target_is(b"/public%5c..%5cadmin"), served_by("svc-a")),
    "forwarded unchanged, routed as /public": forwarded_and(
        target_is(b"/public/%c0%ae%c0%ae/admin"), served_by("svc-a")
    ),
    "matches Prefix /admin, auth applied": forwarded_and(target_is(b"/admin/"), served_by("svc-admin")),
    "bounded match time < 1 ms, or regex paths unsupported": forwarded_and(stalled_at_most(0.1)),  # unsupported
    # Hop-by-hop fields
    "forward-normalised: client-nominated removal happens BEFORE proxy headers are added; proxy X-Forwarded-For present": (  # noqa: E501 - the file's text
        forwarded_and(peer_only, announced_close)
    ),
    "forward-normalised: all four present upstream": forwarded_and(
        holds("one line of each", lambda play: all(len(play.message.values(name)) == 1 for name in FORWARDED_FIELDS))
    ),
    "forward-normalised: Host kept": forwarded_and(message_has(b"host", b"app.test")),
    "forward-normalised: framing intact": forwarded_and(
        framed_by("length"), message_has(b"content-length", b"42"), served_by("svc-a")
    ),
    "forward-normalised: removed (client harms itself) or kept; same rule for auth sub-request and upstream": forwarded_and(  # noqa: E501 - the file's text
        either(
            every(message_has(b"authorization", b"Basic eDp5"), message_has(b"cookie", b"s=1")),
            message_lacks(b"authorization", b"cookie"),
        )
    ),
    "forward-normalised: TE removed, or exactly TE: trailers": forwarded_and(message_lacks(b"te")),
    "forward-normalised: X-Foo removed": forwarded_and(message_lacks(b"x-foo")),
    "forward-normalised: client connection closed after response": forwarded_and(announced_close, connection_ended),
    "forward-normalised: Proxy removed": forwarded_and(message_lacks(b"proxy")),
    "forward-normalised: Via appended": forwarded_and(
        holds(
            "a Via of ours after the client's",
            lambda play: len(b",".join(play.message.values(b"via")).split(b",")) == 2,
        )
    ),
    "forward-normalised: Max-Forwards: 4": forwarded_and(message_has(b"max-forwards", b"4")),
    # What clients say about themselves
    "forward-normalised: exactly the socket peer": forwarded_and(peer_only),
    "forward-normalised: one line": forwarded_and(peer_only),
    "forward-normalised: alias dropped": removed(
        b"x_forwarded_for", b"x_forwarded_proto", b"x.forwarded.for", b"x.authenticated.user"
    ),
    "forward-normalised: removed or rebuilt": removed(b"forwarded"),
    "forward-normalised: removed, or set by the proxy": removed(b"x-original-url", b"x-rewrite-url"),
    "forward-normalised: removed": removed(
        b"ssl-client-verify", b"ssl-client-subject-dn", b"x-forwarded-client-cert", b"x-ssl-client-verify"
    ),
    # The proxy has no control fields of its own: the case is that nothing is honoured.
    "forward-normalised: own control names removed": forwarded_and(target_is(b"/"), served_by("svc-a")),
    "forward-normalised or 431": either(forwarded_and(peer_only), every(rejected, response_status(431))),
    "redirect from upstream is passed through, never followed": forwarded_and(
        holds("a redirect is passed on as it is", lambda play: redirected(play.probe))
    ),
    # Expect
    "100 sent by the proxy or relayed from upstream within 1 s, then final": every(
        continued, holds("100 before the body was sent", lambda play: play.interim_before_body), body_is(b"hello")
    ),
    "as EXP-01": every(continued, body_is(b"hello")),
    "no 1xx to an HTTP/1.0 client": forwarded_and(
        holds("no interim", lambda play: not play.interims), body_is(b"hello")
    ),
    "no wait": every(one_request, answered_once, response_status(200)),
    "one upstream request": every(one_request, answered_once, body_is(b"hello")),
    "forward-normalised: one": forwarded_and(holds("one line of what came twice", has_one_line)),
    "ignored or 100 then final": every(one_request, answered_once, response_status(200)),
    "two requests, two final responses, in order": answered_in_order(2, b"/", b"/second"),
    # Upgrades
    "101 only after upstream 101; then bytes both ways": tunnelled,
    "200 relayed; following bytes parsed as a new request by the proxy with full routing and auth, or connection closed": (  # noqa: E501 - the file's text
        refused_upgrade
    ),
    "426 relayed; no tunnel": every(one_request, answered_once, response_status(426)),
    "forward-normalised: Upgrade removed": forwarded_and(message_lacks(b"upgrade")),
    "forward-normalised: only websocket": every(
        one_request, answered_once, message_has(b"upgrade", b"websocket"), message_has(b"connection", b"upgrade")
    ),
    "closed after tunnel idle timeout; both sides closed": tunnel_timed_out,
    "bytes relayed unchanged with back-pressure": tunnelled,
    # Limits
    "all answered in order, or closed at keepalive-requests limit with Connection: close; queue bounded": (
        last_allowed_is_announced
    ),
    "413 or abort at the limit; upstream aborted": every(
        either(every(answered_once, response_status(413), announced_close), cut_short), aborted_at_endpoint
    ),
    "forward-normalised: bytes identical": forwarded_and(body_is(GZIP)),
    "forward-normalised: bytes identical, RSS growth < 2 MiB": forwarded_and(
        holds("the file's bytes", lambda play: bytes(play.message.body) == generated_file(BOMB)),
        grew_at_most(2 * 1024 * 1024),
    ),
    # Connections
    "three responses in request order": answered_in_order(3, b"/sleep/2", b"/sleep/0", b"/sleep/1"),
    "one response, then close": every(answered_once, one_request, announced_close, connection_ended),
    "close after response; no chunked coding": forwarded_and(
        connection_ended, holds("no coding", lambda play: play.responses[0].framing != "chunked")
    ),
    "no body; Content-Length as GET": forwarded_and(
        holds("the page's length", lambda play: play.responses[0].value(b"content-length") == b"%d" % len(PAGE))
    ),
    "first response complete, then 400 and close": first_then_refused,
    "upstream request cancelled within 1 s (or by policy kept) and connection not pooled": endpoint_cancelled,
    "two responses": answered_in_order(2),
    "Connection: close announced on the last response allowed": last_allowed_is_announced,
    # Slow clients
    "closed within header timeout (<= 60 s nginx default, 10 s recommended)": every(
        ended_within_deadlines, nothing_reached_an_endpoint
    ),
    "closed at an absolute header deadline": every(ended_within_deadlines, nothing_reached_an_endpoint),
    "closed by body idle or minimum-rate rule; upstream aborted": every(
        ended_within_deadlines, no_whole_request_reached_an_endpoint, endpoint_released
    ),
    "send timeout closes; proxy memory per connection <= 256 KiB": every(
        cut_short,
        grew_at_most(8 * CONNECTION_MEMORY_BYTES),
        endpoint_released,  # the play shares its process with others
    ),
    "TCP keep-alive or write timeout frees it; upstream not held beyond its timeout": every(
        ended_within_deadlines, endpoint_released
    ),
    "forward-normalised; log line is valid JSON with escapes": forwarded_and(log_is_clean),
    # Responses
    "forward-normalised: close-delimited and client connection closed": forwarded_and(
        body_is(b"hello"), message_lacks(b"transfer-encoding"), connection_ended
    ),
    "forward-normalised: close-delimited": forwarded_and(message_lacks(b"content-length"), connection_ended),
    "forward-normalised and upstream closed": forwarded_and(not_reused),
    "client sees an error: chunked without last chunk, or connection closed before Content-Length": cut_short,
    "as RSP-10": cut_short,
    "forward-normalised: 8 bytes; upstream connection closed": forwarded_and(body_is(b"SEE-THIS"), not_reused),
    "forward-normalised: first only; upstream connection closed": forwarded_and(body_is(b"ok"), not_reused),
    "connection discarded; next request uses a fresh connection": discarded,
    "connection discarded, request retried or sent fresh": discarded,
    "forward-normalised: no body; upstream connection closed": forwarded_and(body_is(b""), not_reused),
    "forward-normalised: no body, no Content-Length; upstream closed": forwarded_and(
        body_is(b""), message_lacks(b"content-length"), not_reused
    ),
    "client sees an error": cut_short_by_reset,
    "abort: 502 if head not sent, else connection closed": rejected,
    "abort": rejected,
    "forward-normalised: re-chunked, upstream closed": forwarded_and(body_is(b"hello"), not_reused),
    "forward-normalised: trailers dropped, or kept as trailers without framing/cookie fields": forwarded_and(
        body_is(b"hello"), holds("X-T or nothing", lambda play: play.message.trailers in ([], [(b"x-t", b"1")]))
    ),
    "bounded: 502 after N (e.g. 10) 1xx": every(
        response_status(502), holds("at most 10 of them", lambda play: len(play.interims) <= 10), not_reused
    ),
    "forward-normalised: own reason phrase": forwarded_and(
        holds("OK", lambda play: play.message.head.startswith(b"HTTP/1.1 200 OK\r\n"))
    ),
    "forward-normalised: space removed": forwarded_and(message_has(b"x-a", b"1")),
    "forward-normalised: two lines in order": forwarded_and(
        message_has(b"set-cookie", b"a=1", b"b=2; Expires=Wed, 09 Jun 2027 10:18:14 GMT")
    ),
    "next client request carries no Cookie added by the proxy": every(
        forwarded,
        holds(
            "no Cookie",
            lambda play: (
                play.clean is not None and all(not request.values(b"cookie") for _, request in play.clean.requests)
            ),
        ),
    ),
    "forward-normalised: upstream Server and Date kept; Content-Type lines unchanged": forwarded_and(
        message_has(b"server", b"x"),
        message_has(b"date", b"Thu, 01 Jan 1970 00:00:00 GMT"),
        message_has(b"content-type", b"text/html", b"text/plain"),
    ),
    "forward-normalised; Alt-Svc policy documented": forwarded_and(message_has(b"alt-svc", b'h3="evil.test:443"')),
    "504 at upstream header timeout": every(answered_once, response_status(504), endpoint_released),
}

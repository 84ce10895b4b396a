"""Turns the bytes of one whole head from an endpoint into an `Http1Response`. No I/O.

As with requests, httptools splits the fields, and our own code decides the framing.
"""

from __future__ import annotations

import re

import httptools

from balancer.errors import ErrorKind, Refusal
from balancer.http1.framing import response_framing
from balancer.http1.heads import REMEMBERED_BYTES_MAX, Http1Response, Tokens, options_in

_REASON = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")

# Fields that decide framing or the connection. All others pass on as they are.
_SPECIAL = frozenset((b"content-length", b"transfer-encoding", b"connection", b"upgrade"))


class ResponseHeadReader:
    """Reads the response heads of one endpoint connection."""

    __slots__ = ("_known", "_known_head", "_known_is_to_head", "_tokens")

    def __init__(self) -> None:
        self._tokens = Tokens(_SPECIAL)
        self._known: Http1Response | None = None
        self._known_head = b""
        self._known_is_to_head = False

    def recognise(self, data: bytes, request_method: bytes) -> tuple[Http1Response, int] | None:
        """The response at the start of `data`, and the length of its head, if the head equals the last one.

        The result equals that of `read`. None means that `read` has to decide.
        """
        known = self._known
        if known is None or not data.startswith(self._known_head):
            return None
        return (known, len(self._known_head)) if (request_method == b"HEAD") is self._known_is_to_head else None

    def read(self, head: bytes, request_method: bytes) -> Http1Response:
        """The response in `head` to a request of `request_method`. Raises `Refusal(INVALID_RESPONSE)`."""
        tokens = self._tokens
        tokens.clear()
        parser = httptools.HttpResponseParser(tokens)  # never reused: after a head it is inside of a body
        try:
            parser.feed_data(head)
        except httptools.HttpParserUpgrade:
            pass
        except httptools.HttpParserError as error:
            raise Refusal(ErrorKind.INVALID_RESPONSE, "a malformed response head") from error
        status, version = parser.get_status_code(), parser.get_http_version()
        if version not in ("1.1", "1.0") or not 100 <= status <= 599:
            raise Refusal(ErrorKind.INVALID_RESPONSE, "a response of an unknown version or status")
        if not _REASON.fullmatch(tokens.reason):
            raise Refusal(ErrorKind.INVALID_RESPONSE, "a control byte in the reason phrase")
        response = _response(tokens, status=status, minor=1 if version == "1.1" else 0, request_method=request_method)
        if status >= 200 and len(head) <= REMEMBERED_BYTES_MAX:
            self._known, self._known_head = response, head
            self._known_is_to_head = request_method == b"HEAD"
        return response


def _response(tokens: Tokens, *, status: int, minor: int, request_method: bytes) -> Http1Response:
    options = options_in(tokens.values(b"connection"))
    lengths, codings = tokens.values(b"content-length"), tokens.values(b"transfer-encoding")
    framing = 0
    if status >= 200:
        framing = response_framing(lengths, codings, minor=minor, status=status, request_method=request_method)
        if framing == 0 and lengths and status != 204:
            # HEAD and 304 may state the length of the body that they omit (RFC 9110 8.6). It passes on as a field.
            tokens.names.append(b"Content-Length")
            tokens.fields.append((b"content-length", lengths[0]))
    return Http1Response(
        status=status,
        fields=tuple(tokens.fields),
        body_bytes=framing if framing >= 0 else None,
        upgrade=b",".join(tokens.values(b"upgrade")),
        reason=tokens.reason,
        framing=framing,
        keep_alive=b"close" not in options and (minor == 1 or b"keep-alive" in options),
        connection_options=options,
        names=tuple(tokens.names),
    )

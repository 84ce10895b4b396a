"""Turns the bytes of one whole head from an endpoint into an `Http1Response`. No I/O.

As with requests, `fieldlines` splits the fields, and the framing is decided here.
"""

from __future__ import annotations

import re

from balancer.errors import ErrorKind, Refusal
from balancer.http import calls
from balancer.http1.drafts import options_in
from balancer.http1.fieldlines import FieldLineReader, FieldLines
from balancer.http1.framing import response_framing
from balancer.http1.heads import REMEMBERED_BYTES_MAX, Http1Response

_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9][0-9])(?: ([\t\x20-\x7e\x80-\xff]*))?")

# Fields that decide framing or the connection. All others pass on as they are.
_SPECIAL = frozenset((b"content-length", b"transfer-encoding", b"connection", b"upgrade"))
# Which fields go on to a client, and under which names, is decided for each response.
_LINES = FieldLineReader(_SPECIAL, ErrorKind.INVALID_RESPONSE, lambda _: b"")


class ResponseHeadReader:
    """Reads the response heads of one endpoint connection. `known_bytes` is the size of the head read last."""

    __slots__ = ("_known", "_known_head", "_known_is_to_head", "known_bytes")

    def __init__(self) -> None:
        self._known: Http1Response | None = None
        self._known_head = b""
        self._known_is_to_head = False
        self.known_bytes = 0

    def recognise(self, data: bytes, request_method: bytes) -> Http1Response | None:
        """The response at the start of `data`, if its head equals the last one, which has `known_bytes`.

        The result equals that of `read`. None means that `read` has to decide.
        """
        known, head = self._known, self._known_head
        if known is None or not calls.begins_with(data, head):
            return None
        return known if (request_method == b"HEAD") is self._known_is_to_head else None

    def read(self, head: bytes, request_method: bytes, lines: list[bytes] | None = None) -> Http1Response:
        """The response in `head` to a request of `request_method`. Raises `Refusal(INVALID_RESPONSE)`.

        `lines` are those of the head, if they are known, as `HeadCollector.take_lines` gives them.
        """
        texts = head.split(b"\r\n")[:-1] if lines is None else lines
        line = _STATUS_LINE.fullmatch(texts[0])
        if line is None:
            raise Refusal(ErrorKind.INVALID_RESPONSE, "no status line of a known version and status")
        minor, status = int(line[1]), int(line[2])
        response = _response(_LINES.read(texts[1:-1]), minor, status, line[3] or b"", request_method)
        if status >= 200 and len(head) <= REMEMBERED_BYTES_MAX:
            self._known = response
            self._known_head = head
            self.known_bytes = len(head)
            self._known_is_to_head = request_method == b"HEAD"
        return response


def _response(found: FieldLines, minor: int, status: int, reason: bytes, request_method: bytes) -> Http1Response:
    options = options_in(found.values(b"connection"))
    lengths, codings = found.values(b"content-length"), found.values(b"transfer-encoding")
    framing = response_framing(lengths, codings, minor=minor, status=status, request_method=request_method)
    if framing == 0 and lengths and status >= 200 and status != 204:
        # HEAD and 304 may state the length of the body that they omit (RFC 9110 8.6). It passes on as a field.
        found.names.append(b"Content-Length")
        found.fields.append((b"content-length", lengths[0]))
    return Http1Response(
        status=status,
        fields=tuple(found.fields),
        body_bytes=framing if framing >= 0 else None,
        upgrade=b",".join(found.values(b"upgrade")),
        reason=reason,
        framing=framing,
        keep_alive=b"close" not in options and (minor == 1 or b"keep-alive" in options),
        connection_options=options,
        names=tuple(found.names),
    )

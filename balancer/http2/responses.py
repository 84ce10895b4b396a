"""Reads the fields of an endpoint's response, and writes those of a response to a client. No I/O.

Both remember the last one: an endpoint answers alike, and a response that is recognised has been written before.
"""

from __future__ import annotations

import re

from balancer.errors import ErrorKind
from balancer.http.edits import HeadEdit
from balancer.http.memos import Memo, recalled
from balancer.http.messages import Fields, ResponseHead, Trailers
from balancer.http.passing import NOT_FOR_CLIENTS, NOT_IN_INTERIM, nominated
from balancer.http2.fields import CONNECTION_FIELDS, MalformedMessage, check_fields, length_of, trailers_of

_STATUS = re.compile(rb"[1-5][0-9][0-9]")
_STATUSES = {status: (b":status", b"%d" % status) for status in range(100, 600)}
_BAD = ErrorKind.INVALID_RESPONSE
_REMEMBERED_FIELDS_MAX = 40
_NOT_IN_HTTP2 = CONNECTION_FIELDS | NOT_FOR_CLIENTS | {b"te", b"http2-settings"}


class WrittenFields(Memo):
    """The fields of a response as the last client got them, for an `edit` and `body_bytes`."""

    __slots__ = ("body_bytes", "edit", "fields")

    def __init__(self) -> None:
        self.beside = None
        self.edit: HeadEdit | None = None
        self.body_bytes: int | None = None
        self.fields: Fields = ()


class ResponseReader:
    """Reads the responses of one connection to an endpoint."""

    __slots__ = (
        "_known",
        "_known_ends",
        "_known_fields",
        "_known_is_to_head",
        "_known_trailer_fields",
        "_known_trailers",
    )

    def __init__(self) -> None:
        self._known: ResponseHead | None = None
        self._known_fields: Fields = ()
        self._known_is_to_head = False
        self._known_ends = False
        self._known_trailer_fields: Fields = ()
        self._known_trailers: Trailers = ()

    def read(self, fields: Fields, method: bytes, ends: bool) -> ResponseHead:
        """The response in `fields` to a request of `method`. `ends`: the stream has no body.

        Raises `MalformedMessage(INVALID_RESPONSE)`, also for a 101, which HTTP/2 does not have (RFC 9113 8.6).
        """
        known, is_to_head = self._known, method == b"HEAD"
        if (
            known is not None
            and ends is self._known_ends
            and is_to_head is self._known_is_to_head
            and fields == self._known_fields
        ):
            return known
        response = _read(fields, is_to_head, ends)
        if len(fields) <= _REMEMBERED_FIELDS_MAX and response.status >= 200:
            self._known = response
            self._known_fields = fields
            self._known_is_to_head = is_to_head
            self._known_ends = ends
        return response

    def trailers(self, fields: Fields) -> Trailers:
        """The trailers in `fields`, without those that may not go on. Raises `MalformedMessage(INVALID_RESPONSE)`."""
        if fields != self._known_trailer_fields:
            trailers = trailers_of(fields, _BAD)
            if len(fields) > _REMEMBERED_FIELDS_MAX:
                return trailers
            self._known_trailer_fields = fields
            self._known_trailers = trailers
        return self._known_trailers


def _read(fields: Fields, is_to_head: bool, ends: bool) -> ResponseHead:
    if not fields or fields[0][0] != b":status" or not _STATUS.fullmatch(fields[0][1]):
        raise MalformedMessage(_BAD, "a response without a status")
    rest, status = fields[1:], int(fields[0][1])
    check_fields(rest, _BAD)
    if status == 101:
        raise MalformedMessage(_BAD, "a 101 in HTTP/2")
    lengths = [value for name, value in rest if name == b"content-length"]
    length = length_of(lengths, _BAD) if lengths else None
    if lengths and (status < 200 or (status == 204 and length)):
        raise MalformedMessage(_BAD, "a length where there is no body (RFC 9110 8.6)")
    is_bodiless = is_to_head or status in (204, 304) or status < 200
    if lengths and (status == 204 or (not is_bodiless and length)):  # said by `body_bytes`, or not to be said
        rest = tuple(field for field in rest if field[0] != b"content-length")
    if is_bodiless:
        return ResponseHead(status, rest, 0, b"")
    if ends:
        if length:
            raise MalformedMessage(_BAD, "a length without a body")
        return ResponseHead(status, rest, 0, b"")
    return ResponseHead(status, rest, length, b"")


def client_fields(head: ResponseHead, edit: HeadEdit) -> Fields:
    """The fields of a response that go to the client, as `edit` changes them, with :status.

    Beside those that `edit` removes, the fields of one hop end here. Names are in lower case.
    """
    held = head.written.memo
    written = held if isinstance(held, WrittenFields) else recalled(head.written, WrittenFields)
    if written.edit is edit and written.body_bytes == head.body_bytes:
        return written.fields
    removed = edit.removed | _NOT_IN_HTTP2
    if head.connection_options:
        removed |= nominated(head.connection_options)
    fields = [_STATUSES[head.status]]
    fields += [field for field in head.fields if field[0] not in removed]
    if head.body_bytes:
        fields.append((b"content-length", b"%d" % head.body_bytes))
    fields += [(name.lower(), value) for name, value in edit.added if name.lower() not in _NOT_IN_HTTP2]
    written.edit = edit
    written.body_bytes = head.body_bytes
    written.fields = tuple(fields)
    return written.fields


def interim_fields(head: ResponseHead) -> Fields:
    """The fields of a 1xx response that go to the client (RFC 9110 15.2)."""
    removed = _NOT_IN_HTTP2 | NOT_IN_INTERIM
    if head.connection_options:
        removed |= nominated(head.connection_options)
    return (_STATUSES[head.status], *(field for field in head.fields if field[0] not in removed))

"""Reads the bytes of a whole request head into a `RequestHead`; `responses` does so for responses. No I/O.

Knows what stays the same: most heads of a connection repeat the last one, often with another target, and endpoints
answer alike. Both readers remember the last head and compare bytes. Where some field lines differ, only these are read.
`fieldlines` splits fields, and `drafts` reads what decides. Heads come from `collecting`, so every line end is CRLF.
"""

from __future__ import annotations

from functools import lru_cache, partial

from balancer.errors import ErrorKind, Refusal
from balancer.http import calls
from balancer.http.messages import HTTP_1_0, HTTP_1_1, Fields, Repeated, RequestHead, ResponseHead
from balancer.http.passing import Passing, passing
from balancer.http.rules import check_method, forwarded_once_more
from balancer.http1.differing import differing_lines
from balancer.http1.drafts import (
    PLAIN_LINE,
    HeadDraft,
    apply_special,
    is_ordinary,
    read_request_line,
    repeat_request_line,
)
from balancer.http1.fieldlines import (
    FieldLine,
    FieldLineReader,
    FieldLines,
    are_logged,
    beginning_onward,
    gathered,
)
from balancer.http1.replacing import LinePlace, fields_with, have_other_values, onward_with
from balancer.model.settings import ProxySettings

Names = tuple[bytes, ...]
"""The names of fields in their order, spelled as they came."""

REMEMBERED_BYTES_MAX = 4096
"""A head with more bytes is not remembered, because there are many connections and most of them are idle."""
_REMEMBERED_MOST = REMEMBERED_BYTES_MAX  # for this module, whose compiled form holds it as a number of C

# Fields that decide framing, routing or the connection. All others pass on as they are.
_SPECIAL = frozenset((b"host", b"content-length", b"transfer-encoding", b"connection", b"expect", b"upgrade"))
_RULES_REMEMBERED = 4  # of the settings in use and those before
_USUAL_OPTIONS = frozenset(((), (b"keep-alive",)))  # no field that they name goes on


@lru_cache(maxsize=_RULES_REMEMBERED)
def _reader_under(underscores: bool, kept: tuple[str, ...]) -> tuple[Passing, FieldLineReader]:
    """One for all connections under equal rules, because what it remembers is as an endpoint gets it."""
    rules = passing(underscores, kept)
    return rules, FieldLineReader(_SPECIAL, ErrorKind.BAD_REQUEST, partial(beginning_onward, rules=rules))


class RepeatedLines(Repeated):
    """The field lines of a request head, with what HTTP/1 worked out from them.

    `onward` belongs to `fields`: the lines as an endpoint gets them, and what they depend on.
    """

    __slots__ = ("names", "onward")

    def __init__(
        self,
        fields: Fields,
        names: Names,
        connection_options: tuple[bytes, ...],
        request_id: bytes | None,
        onward: tuple[Passing, bytes] | None = None,
    ) -> None:
        self.request_id = request_id  # this and what follows as the base class does, which would search for it
        self.memo = None
        self.logged = None
        self.connection_options = connection_options
        self.names = names
        self.onward = onward

    def with_values(self, onward: tuple[Passing, bytes] | None) -> RepeatedLines:
        """These lines with other values, of which nothing is known but `onward`."""
        made = RepeatedLines.__new__(RepeatedLines)  # compiled code would make a tuple of the arguments
        made.request_id = self.request_id
        made.memo = None
        made.logged = None
        made.connection_options = self.connection_options
        made.names = self.names
        made.onward = onward
        return made


class Http1Response(ResponseHead, frozen=True, eq=False, gc=False, kw_only=True):
    """A response head with what only HTTP/1 knows of it. `framing` is decided for the request that it answers."""

    reason: bytes
    framing: int
    keep_alive: bool
    names: Names


class RequestHeadReader:
    """Reads the request heads of one client connection.

    `keep_alive` says whether another request may follow the last one that was read.
    """

    __slots__ = (
        "_known",
        "_known_found",
        "_known_line",
        "_known_lines",
        "_known_onward",
        "_line_reader",
        "_passing",
        "_place",
        "_settings",
        "_shortest_limit",
        "keep_alive",
    )

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        passing, line_reader = _reader_under(settings.underscores_in_headers, settings.kept_fields)
        self._passing = passing
        self._line_reader = line_reader
        line_bytes, head_bytes = settings.head_line_bytes, settings.head_bytes
        self._shortest_limit = line_bytes if line_bytes < head_bytes else head_bytes  # `min` costs more than both
        self._known: RequestHead | None = None
        self._known_line = b""  # its request line
        self._known_lines = b""  # its field lines
        self._known_found: list[FieldLine] = []  # what was read in these
        self._known_onward: tuple[Passing, bytes] | None = None  # and `onward` as it followed from that
        self._place: LinePlace | None = None  # and where the last one differed, if that was one line
        self.keep_alive = False

    def recognise(self, data: bytes) -> RequestHead | None:
        """The request in `data`, if that is one plain request line before field lines like those of the last request.

        The result equals that of `read`. None means that `read` has to decide.
        """
        known, known_line, lines = self._known, self._known_line, self._known_lines
        if known is None or len(data) > self._shortest_limit:
            return None
        if not calls.ends_with(data, lines):
            return self._with_other_lines(data) if len(lines) >= calls.LEAST_COMPARED else None
        self.keep_alive = True  # as known requests say
        line_bytes = len(data) - len(lines)
        if line_bytes == len(known_line) and calls.begins_with(data, known_line):
            return known
        text = data  # which compiled code slices without a slice object, as below
        line = text[:line_bytes]
        request = self._repeating(known, line, len(data), known.fields, known.repeated)
        if request is not None and len(data) <= _REMEMBERED_MOST:
            self._known = request
            self._known_line = line
        return request

    def _repeating(
        self, known: RequestHead, line: bytes, head_bytes: int, fields: Fields, repeated: Repeated
    ) -> RequestHead | None:
        """The request with that line and these `fields`, of which those that decide are those of `known`.

        None if the line is neither that of `known` nor a plain one.
        """
        method, target, raw_target, path = known.method, known.target, known.raw_target, known.path
        if line != self._known_line:
            parts = PLAIN_LINE.fullmatch(line)
            if parts is None:
                return None
            method, target, path = parts.groups()
            raw_target = target
            if path.find(b"//") >= 0 or path.find(b"/.") >= 0:
                return None
        return RequestHead(
            method,
            known.authority,
            known.host_name,
            path,
            target,
            raw_target,
            fields,
            known.body_bytes,
            known.expects_continue,
            b"",
            HTTP_1_1,
            head_bytes,
            repeated,
        )

    def read(self, head: bytes, lines: list[bytes] | None = None) -> RequestHead:
        """The request in `head`. Raises `Refusal` for a head that is invalid, ambiguous or over a limit.

        `lines` are those of the head, if they are known, as `HeadCollector.take_lines` gives them.
        """
        texts = head.split(b"\r\n")[:-1] if lines is None else lines
        reader = self._line_reader
        return self._read(head, texts[0], reader.read(texts[1:-1]))

    def _with_other_lines(self, data: bytes) -> RequestHead | None:
        """The request in `data`, some of whose field lines are those of the last request."""
        known, line, lines, place = self._known, self._known_line, self._known_found, self._place
        if not calls.begins_with(data, line):
            line = _plain_line_of(data)
        if known is None or not line:
            return None
        if place is not None and calls.are_alike_around(self._known_lines, data, len(line), place.start, place.rest):
            before = lines[place.number]
            value = calls.value_of(before.name, data, len(line) + place.start, len(data) - place.rest)
            if value is not None:
                return self._with_other_value(known, data, line, place, before.with_value(value))
        return self._with_differing_lines(known, data, line)

    def _with_differing_lines(self, known: RequestHead, data: bytes, line: bytes) -> RequestHead | None:
        """The request in `data`, which begins with `line`: a plain one or that of `known`, whose other lines differ."""
        lines, reader = self._known_found, self._line_reader
        differing = differing_lines(self._known_lines, data, len(line))
        if differing is None:
            return None
        before, behind, start, rest, texts = differing
        try:
            others = reader.lines_of(texts)
            if have_other_values(others, lines, before, behind):
                if len(others) > 1:
                    return self._with_other_values(known, data, line, before, others)
                place = LinePlace(lines, before, start, rest)
                self._place = place
                return self._with_other_value(known, data, line, place, others[0])
            request = self._read(data, line, gathered(lines[:before] + others + lines[behind:]))
        except Refusal:
            return None  # an offence before this one may decide the error
        if request.authority == known.authority and not are_logged(others) and not are_logged(lines[before:behind]):
            request.repeated.logged = known.repeated.logged
        return request

    def _with_other_value(
        self, known: RequestHead, data: bytes, line: bytes, place: LinePlace, other: FieldLine
    ) -> RequestHead | None:
        """The request with `other`, which only passes, at `place`."""
        lines, onward, number = self._known_found, self._known_onward, place.number
        shared = known.repeated
        assert isinstance(shared, RepeatedLines)
        if onward is not None:
            rules, written = onward
            before, end = lines[number], len(written) - place.onward_rest
            onward = rules, calls.spliced(written, end - len(before.onward), end, other.onward)
        fields = calls.with_item(known.fields, place.field, other.field)
        repeated = shared.with_values(onward)
        if not other.is_logged():
            repeated.logged = shared.logged
        request = self._repeating(known, line, len(data), fields, repeated)
        if request is None:
            return None
        self.keep_alive = True  # as known requests say
        if len(data) <= _REMEMBERED_MOST:
            self._remember(request, data, line, onward)
            lines[number] = other
        return request

    def _with_other_values(
        self, known: RequestHead, data: bytes, line: bytes, before: int, others: list[FieldLine]
    ) -> RequestHead | None:
        """The request with `others`, which only pass, in place of as many lines behind the first `before`."""
        lines, onward = self._known_found, self._known_onward
        shared = known.repeated
        assert isinstance(shared, RepeatedLines)
        if onward is not None:
            onward = onward[0], onward_with(others, onward[1], lines, before)
        fields = fields_with(others, known.fields, lines, before)
        repeated = shared.with_values(onward)
        if not are_logged(others):
            repeated.logged = shared.logged
        request = self._repeating(known, line, len(data), fields, repeated)
        if request is None:
            return None
        self.keep_alive = True  # as known requests say
        if len(data) <= _REMEMBERED_MOST:
            self._remember(request, data, line, onward)
            self._place = None
            for number in range(len(others)):
                lines[before + number] = others[number]
        return request

    def _read(self, head: bytes, line: bytes, found: FieldLines) -> RequestHead:
        """The request of a request line and field lines."""
        draft, known = HeadDraft(), self._known
        if known is not None and line == self._known_line:
            repeat_request_line(known, draft)
        else:
            read_request_line(line, draft)
        self._check_limits(len(head), found)
        apply_special(draft, found, known)
        self.keep_alive = draft.keep_alive
        method = draft.method
        check_method(method)
        is_remembered = method != b"OPTIONS"
        fields, framing = tuple(found.fields), draft.framing
        onward = self._onward(draft, found) if is_remembered else None
        if not is_remembered:
            fields = tuple([forwarded_once_more(field) for field in fields])
        request = RequestHead(  # positional arguments, because keywords would cost more
            method,
            draft.authority,
            draft.host_name,
            draft.path,
            draft.target,
            draft.raw_target,
            fields,
            framing if framing >= 0 else None,
            draft.expects_continue,
            draft.upgrade,
            HTTP_1_1 if draft.minor else HTTP_1_0,
            len(head),
            RepeatedLines(
                fields,
                tuple(found.names),
                draft.connection_options,
                found.request_id,
                onward,
            ),
        )
        if is_remembered and len(head) <= _REMEMBERED_MOST and is_ordinary(draft):
            self._remember(request, head, line, onward)
            self._known_found = found.lines
            self._place = None
        return request

    def _remember(self, request: RequestHead, head: bytes, line: bytes, onward: tuple[Passing, bytes] | None) -> None:
        """Keeps what the next head is compared with. Its field lines as they were read are for the caller to keep."""
        text = head
        self._known = request
        self._known_line = line
        self._known_lines = text[len(line) : len(head)]
        self._known_onward = onward

    def _onward(self, draft: HeadDraft, found: FieldLines) -> tuple[Passing, bytes] | None:
        """`RepeatedLines.onward`, or None where Connection names fields that end here."""
        if draft.connection_options not in _USUAL_OPTIONS:
            return None
        pieces = [b"X-Forwarded-Host: ", draft.authority, *found.onward, b"\r\n"]
        return self._passing, b"".join(pieces)

    def _check_limits(self, head_bytes: int, found: FieldLines) -> None:
        if found.count() > self._settings.head_lines_max:
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "too many fields")
        limit = self._settings.head_line_bytes
        if head_bytes > limit and any(
            len(name) + len(value) + 2 > limit for fields in (found.fields, found.special) for name, value in fields
        ):
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "a field over its limit")


def _plain_line_of(data: bytes) -> bytes:
    """The request line with which `data` begins, if it is a plain one; else empty."""
    line_end = data.find(b"\r\n")
    if line_end < 0:
        return b""
    text = data
    line = text[:line_end]
    return line if PLAIN_LINE.fullmatch(line) is not None else b""

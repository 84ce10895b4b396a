"""Collects the bytes of one message head until it is whole. No I/O.

A head is returned only when it is complete (up to CRLF CRLF), so the result never depends on how the bytes were split.
An offence is refused as soon as it is seen: a bare CR or LF, a NUL, a line or a head over its limit. The first offence
by position decides the error, so the error does not depend on the split either.
"""

from __future__ import annotations

import re

from balancer.errors import ErrorKind, Refusal

_OFFENCE = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)|\x00")
_EMPTY_LINES = re.compile(rb"(?:\r\n)+")
_ANY_LINE = re.compile(rb".*", re.DOTALL)
_END = b"\r\n\r\n"

EMPTY_LINES_MAX = 4
"""Empty lines before a head are skipped up to this number. RFC 9112 2.2 asks for at least one; old clients sent one
or two after a body.
"""


class HeadCollector:
    """Holds bytes that have arrived but were not taken yet: a part of a head, or a head and the bytes after it.

    `pending` are these bytes. Callers must not change them.
    """

    __slots__ = (
        "_empty_lines",
        "_first_line",
        "_head_limit",
        "_line_limit",
        "_lines",
        "_opening",
        "_scanned",
        "pending",
    )

    def __init__(
        self, line_limit: int, head_limit: int, first_line: re.Pattern[bytes] = _ANY_LINE, opening: bytes = b""
    ) -> None:
        """`line_limit` bounds the first line and `head_limit` the whole head, both in bytes without their line ends.

        Bytes that are no HTTP message are refused before the head is whole: a first line that does not match
        `first_line`, and bytes that do not begin with `opening`.
        """
        self._first_line = first_line
        self._opening = opening
        self.pending = b""
        self._lines: list[bytes] = []
        self._scanned = 0
        self._empty_lines = 0
        self._line_limit = line_limit
        self._head_limit = head_limit

    def add(self, data: bytes) -> None:
        """Appends bytes from the wire. The next `take_head` or `take_rest` reads them."""
        self.pending = self.pending + data if self.pending else data

    def take_rest(self) -> bytes:
        """Returns all collected bytes and forgets them."""
        rest = self.pending
        self.pending = b""
        self._scanned = 0
        return rest

    def take_head(self) -> bytes | None:
        """Takes the next whole head with its final empty line, or returns None while the head is incomplete.

        Skips up to `EMPTY_LINES_MAX` empty lines before it (RFC 9112 2.2). Raises `Refusal` for a head that can never
        become valid: BAD_REQUEST, TARGET_TOO_LONG (the first line is over its limit) or HEAD_TOO_LARGE.
        """
        buffer = self.pending
        if not buffer:
            return None
        if buffer[:1] == b"\r":
            buffer = self._skip_empty_lines()
        end = buffer.find(_END, max(0, self._scanned - 3))
        if end < 0 or end > self._head_limit:
            self._check_unfinished(buffer)
            return None
        end += len(_END)
        head = buffer if end == len(buffer) else buffer[:end]
        if self._is_suspicious(head):
            self._check_unfinished(head)
        self.pending = b"" if head is buffer else buffer[end:]
        self._scanned = 0
        self._empty_lines = 0
        return head

    def take_lines(self) -> list[bytes]:
        """The lines of the head that was taken last, without their ends; the last one is empty. To be called once."""
        lines = self._lines
        self._lines = []
        return lines

    def _is_suspicious(self, head: bytes) -> bool:
        """Whether the head may hold an offence, which the slow search then finds. Notes the lines of the head."""
        lines = head.splitlines()
        self._lines = lines
        head_bytes = 2 * len(lines)  # a bare CR or LF ends a line, too, but has one byte
        for line in lines:
            head_bytes += len(line)
        # NUL is an integer, because `in` costs ten times as much with bytes.
        return head_bytes != len(head) or 0 in head or self._first_line_too_long(head)

    def _skip_empty_lines(self) -> bytes:
        empty_lines = _EMPTY_LINES.match(self.pending)
        if empty_lines is not None:
            self._empty_lines += empty_lines.end() // 2
            if self._empty_lines > EMPTY_LINES_MAX:
                raise Refusal(ErrorKind.BAD_REQUEST, "too many empty lines before a head")
            self.pending = self.pending[empty_lines.end() :]
            self._scanned = 0
        return self.pending

    def _first_line_too_long(self, head: bytes) -> bool:
        # Wait until both bytes after the limit have arrived, because they may be the CRLF of the line.
        line_end = self._line_limit + 2
        return len(head) >= line_end and head.find(b"\r\n", 0, line_end) < 0

    def _has_opening(self, buffer: bytes) -> bool:
        # A CR alone is the first half of an empty line.
        return buffer == b"\r" or buffer.startswith(self._opening[: len(buffer)])

    def _has_first_line(self, buffer: bytes) -> bool:
        """Whether the first line is valid or has not arrived yet."""
        line_end = buffer.find(b"\r\n", 0, self._line_limit + 2)
        return line_end < 0 or self._first_line.fullmatch(buffer, 0, line_end) is not None

    def _check_unfinished(self, buffer: bytes) -> None:
        """Raises for the first offence by position. Remembers how far the buffer has been checked."""
        if not self._has_opening(buffer):
            raise Refusal(ErrorKind.BAD_REQUEST, "the beginning of no message")
        longest = self._head_limit + len(_END)
        window = buffer[:longest]
        offence = _OFFENCE.search(window, max(0, self._scanned - 1))
        if self._first_line_too_long(buffer) and (offence is None or offence.start() > self._line_limit):
            raise Refusal(ErrorKind.TARGET_TOO_LONG, "the first line is over its limit")
        if not self._has_first_line(buffer):
            raise Refusal(ErrorKind.BAD_REQUEST, "the first line of no message")
        if offence is not None:
            raise Refusal(ErrorKind.BAD_REQUEST, "a bare CR, a bare LF or a NUL in the head")
        if len(buffer) >= longest:
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "the head is over its limit")
        self._scanned = len(buffer)

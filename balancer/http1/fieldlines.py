"""Splits the bytes of a head into valid field lines (RFC 9112 5). Whatever is no field line is refused. No I/O.

Strict where parsers differ: no folded lines, no white space in or after a name, no control byte but a tab in a value.
What the fields mean is for `heads` and `responses` to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from balancer.errors import ErrorKind, Refusal
from balancer.http import calls
from balancer.http.looping import LOOP_FIELD, PASSES_MOST, passes_of
from balancer.http.messages import LOGGED_FIELDS, Field
from balancer.http.passing import Passing, name_onward

_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

PASSES = 0
"""The role of a field that only passes."""
SPECIAL = 1
"""The role of a field that decides framing, routing or the connection."""
REQUEST_ID = 2
"""The role of X-Request-ID, which passes and names the request."""
LOOP = 3
"""The role of CDN-Loop of a request, which passes and says how often the request has passed through zonal."""
LOGGED = 4
"""The role of a field that only passes, and of which the access log says something."""

SHARED_NAMES = frozenset(
    b"accept accept-charset accept-encoding accept-language accept-ranges access-control-allow-origin cache-control "
    b"connection content-encoding content-type dnt expires host keep-alive origin pragma priority sec-ch-ua "
    b"sec-ch-ua-mobile sec-ch-ua-platform sec-fetch-dest sec-fetch-mode sec-fetch-site sec-fetch-user sec-gpc server "
    b"te transfer-encoding upgrade-insecure-requests user-agent vary x-content-type-options x-frame-options "
    b"x-powered-by x-requested-with".split()
)
"""Lines of these names are said alike by many peers and hold no secrets. So a worker remembers them for all of them."""

# Nobody can make the table of names hold more than some 250 KiB, nor that of lines more than 7 MiB: names and lines are
# held with what was made of them.
_NAMES_REMEMBERED_MAX = 256
_NAME_BYTES_MAX = 64
_LINES_REMEMBERED_MAX = 8192  # with the Host lines of a cluster of 5,000 hosts
_LINE_BYTES_MAX = 160


class KnownName:
    """A valid name in lower case and as it was `spelled`. `beginning` is what goes before its value where it passes on.

    That is the end of the line before, a name, a colon and a space. It is empty for a field that ends here.
    """

    __slots__ = ("beginning", "is_shared", "lower", "role", "spelled")

    def __init__(self, spelled: bytes, lower: bytes, role: int, beginning: bytes) -> None:
        self.spelled = spelled
        self.lower = lower
        self.role = role
        self.beginning = beginning
        self.is_shared = lower in SHARED_NAMES


class FieldLine:
    """A valid line: the field, its name as it was spelled, its role, and the line as it is passed on."""

    __slots__ = ("field", "name", "onward", "role")

    def __init__(self, field: Field, name: bytes, role: int, onward: bytes) -> None:
        self.field = field
        self.name = name
        self.role = role
        self.onward = onward

    def is_logged(self) -> bool:
        """Whether the access log says anything of it."""
        return self.role in (REQUEST_ID, LOGGED)

    def with_value(self, value: bytes) -> FieldLine:
        """This line with another value, which is valid."""
        made = FieldLine.__new__(FieldLine)  # compiled code would make a tuple of the arguments of a constructor
        lower, before = self.field
        onward = self.onward
        made.field = (lower, value)
        made.name = self.name
        made.role = self.role
        made.onward = calls.spliced(onward, len(onward) - len(before), len(onward), value) if onward else onward
        return made


class FieldLines:
    """The `lines` of one head: special fields, and all others as `fields` with their spelled `names`.

    The pieces of `onward` are the others as they are passed on. `request_id` is the first X-Request-ID, or None.
    """

    __slots__ = ("fields", "lines", "names", "onward", "request_id", "special")

    def __init__(self, lines: list[FieldLine]) -> None:
        self.lines = lines
        self.fields: list[Field] = []
        self.names: list[bytes] = []
        self.onward: list[bytes] = []
        self.special: list[Field] = []
        self.request_id: bytes | None = None

    def count(self) -> int:
        return len(self.fields) + len(self.special)

    def values(self, name: bytes) -> list[bytes]:
        """The values of a special field by its name in lower case."""
        return [value for each, value in self.special if each == name]


class FieldLineReader:
    """Reads the field lines of all heads of one kind in a worker. Remembers names and lines that come often."""

    __slots__ = ("_beginning_of", "_kind", "_lines", "_names", "_special")

    def __init__(self, special: frozenset[bytes], kind: ErrorKind, beginning_of: Callable[[bytes], bytes]) -> None:
        """`special` are names in lower case. Refusals are of `kind`. `beginning_of` says `KnownName.beginning`."""
        self._special = special
        self._kind = kind
        self._beginning_of = beginning_of
        self._names: dict[bytes, KnownName] = {}
        self._lines: dict[bytes, FieldLine] = {}

    def read(self, texts: list[bytes]) -> FieldLines:
        """The lines of a head, which came as `texts` without their ends.

        Raises `Refusal` if one of them is no valid field line.
        """
        return gathered(self.lines_of(texts))

    def lines_of(self, texts: list[bytes]) -> list[FieldLine]:
        """Each of the lines that came as `texts`. Raises `Refusal` as `read` does."""
        lines: list[FieldLine] = []
        known = self._lines
        for text in texts:
            line = known.get(text)
            if line is None:
                line = self._new_line(text)
            lines.append(line)
        return lines

    def _new_line(self, text: bytes) -> FieldLine:
        line_bytes = text  # which compiled code slices without a slice object
        colon, names = text.find(b":"), self._names
        spelled = text if colon < 0 else line_bytes[:colon]
        name = names.get(spelled)
        if name is None:
            name = self._new_name(spelled)
        value = calls.value_behind(text, colon + 1)
        if colon < 0 or not calls.is_value(value):
            raise Refusal(self._kind, "a malformed field line")
        if name.role == SPECIAL and _has_doubtful_end(name, text):
            raise Refusal(self._kind, "a tab behind a transfer coding")
        beginning = name.beginning
        line = FieldLine((name.lower, value), name.spelled, name.role, beginning + value if beginning else b"")
        if name.is_shared and len(text) <= _LINE_BYTES_MAX:
            lines = self._lines
            if len(lines) >= _LINES_REMEMBERED_MAX:
                lines.clear()
            lines[text] = line
        return line

    def _new_name(self, spelled: bytes) -> KnownName:
        if _NAME.fullmatch(spelled) is None:
            raise Refusal(self._kind, "a malformed field name")
        lower, names = spelled.lower(), self._names
        role = SPECIAL if lower in self._special else REQUEST_ID if lower == b"x-request-id" else PASSES
        if lower == LOOP_FIELD and self._kind is ErrorKind.BAD_REQUEST:
            role = LOOP
        elif lower in LOGGED_FIELDS:
            role = LOGGED
        beginning = b"" if role == SPECIAL else self._beginning_of(spelled)
        name = KnownName(spelled, lower, role, beginning)
        if len(spelled) <= _NAME_BYTES_MAX:
            if len(names) >= _NAMES_REMEMBERED_MAX:
                names.clear()
            names[spelled] = name
        return name


def gathered(lines: list[FieldLine]) -> FieldLines:
    """The lines of one head, by what they do. Raises `Refusal` for a request that goes in circles."""
    found, passes = FieldLines(lines), 0
    fields, names = found.fields, found.names
    onward, special = found.onward, found.special  # of four, CPython would make a tuple
    for line in lines:
        if line.role != PASSES:
            if line.role == SPECIAL:
                special.append(line.field)
                continue
            if line.role == LOOP:
                passes += passes_of(line.field[1])
            elif line.role == REQUEST_ID and found.request_id is None:
                found.request_id = line.field[1]
        fields.append(line.field)
        names.append(line.name)
        onward.append(line.onward)
    if passes >= PASSES_MOST:
        raise Refusal(ErrorKind.LOOP, "a request that comes back again and again")
    return found


def are_logged(lines: list[FieldLine]) -> bool:
    """Whether the access log says anything of one of these lines."""
    for line in lines:  # noqa: SIM110 -- a generator is no part of a typed function
        if line.is_logged():
            return True
    return False


def _has_doubtful_end(name: KnownName, text: bytes) -> bool:
    """Whether other parsers (llhttp is one) would see another coding, because a tab follows it."""
    return name.lower == b"transfer-encoding" and text.rstrip(b" ").endswith(b"\t")


def beginning_onward(name: bytes, rules: Passing) -> bytes:
    """`\\r\\nName: ` as written to the endpoint; empty if the field is not forwarded."""
    onward = name_onward(name, rules)
    return b"\r\n%b: " % onward if onward else b""

"""What a list of fields must keep to in HTTP/2, and trailers both ways (RFC 9113 8.2). No I/O.

A field that HTTP/1 could read as several, or as framing, makes its message malformed, so nothing that HTTP/2 carries
becomes ambiguous on the way to an HTTP/1 endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import Fields, Trailers
from balancer.http.passing import passes_as_trailer
from balancer.http.rules import content_length

_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
# A tab or space at either end would be white space around the value in HTTP/1, which is no part of it.
_VALUE = re.compile(rb"(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?")
CONNECTION_FIELDS = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))
"""Fields of a connection, of which HTTP/2 has none (RFC 9113 8.2.2)."""
NAMES = {
    name: name
    for name in b":method :scheme :authority :path host user-agent accept accept-encoding accept-language cookie "
    b"referer content-type te cache-control sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform sec-fetch-site "
    b"sec-fetch-mode sec-fetch-user sec-fetch-dest upgrade-insecure-requests".split()
}
"""Names that most requests have: what is remembered of idle connections shares them."""
NEVER_ALIKE = frozenset(
    b"x-request-id x-correlation-id traceparent tracestate b3 x-b3-traceid x-b3-spanid x-amzn-trace-id "
    b"x-cloud-trace-context grpc-timeout".split()
)
"""Names of fields whose values are others in each message. Engines say that they are never to be indexed.

Each value would push another field out of the table of its connection. Before that, an encoder that finds entries by
their names compares the new value with all earlier ones.
"""
_TRAILERS = b"trailers"


class MalformedMessage(Refusal):
    """A message that RFC 9113 8.1.1 calls malformed: a stream error PROTOCOL_ERROR, unless it is answered."""


def check_fields(fields: Fields, kind: ErrorKind) -> None:
    """Checks fields without pseudo-fields. Raises `MalformedMessage(kind)`."""
    for name, value in fields:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise MalformedMessage(kind, "a malformed field")
        if name in CONNECTION_FIELDS or (name == b"te" and value.lower() != _TRAILERS):
            raise MalformedMessage(kind, "a field of a connection")


def length_of(values: Sequence[bytes], kind: ErrorKind) -> int:
    """The length that the values of content-length say, in bytes. Raises `MalformedMessage(kind)`."""
    try:
        return content_length(values, kind)
    except Refusal as refusal:
        raise MalformedMessage(kind, str(refusal)) from refusal


def trailers_of(fields: Fields, kind: ErrorKind) -> Trailers:
    """The trailers of a message, without those that may not go on. Raises `MalformedMessage(kind)`."""
    check_fields(fields, kind)
    for name, _ in fields:
        if not passes_as_trailer(name):
            return tuple([field for field in fields if passes_as_trailer(field[0])])
    return fields


def trailer_fields(trailers: Trailers) -> Fields:
    """Trailers of a message of any version, as HTTP/2 writes them; they may be none."""
    for name, _ in trailers:
        if not name.islower() or name in CONNECTION_FIELDS:
            break
    else:
        return trailers
    passed = [field for field in trailers if field[0].lower() not in CONNECTION_FIELDS]
    return tuple([field if field[0].islower() else (field[0].lower(), field[1]) for field in passed])

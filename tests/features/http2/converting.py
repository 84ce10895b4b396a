"""Hostile requests of HTTP/1.1 as HTTP/2 would carry them: the same method, target, host, fields and body.

Responsible for which cases have a counterpart. It must not know sockets, nor what is right.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.features.http_cases.cases import Case, all_cases

_MESSAGE = re.compile(r"([!-~]+) ([!-~\x80-\xff]+) HTTP/1\.1\r\n((?:[!-9;-~]+: ?[^\r\n\x00]*\r\n)*)\r\n(.*)", re.DOTALL)
_OF_ONE_HOP = frozenset({"transfer-encoding", "connection", "upgrade", "te", "keep-alive", "proxy-connection"})


class Converted(NamedTuple):
    """A case whose bytes are `raw` in HTTP/1.1; in HTTP/2 it has these fields and this body."""

    case: Case
    raw: bytes
    fields: list[list[str]]
    body: bytes


def converted() -> list[Converted]:
    """The cases with one host, no field of one hop and at most one length, which is that of the body."""
    return [each for case in all_cases() if (each := _converted(case)) is not None]


def _converted(case: Case) -> Converted | None:
    message = _MESSAGE.fullmatch(case.raw or "") if case.side == "request" and case.segments is None else None
    if message is None:
        return None
    method, target, head, body = message.groups()
    lines = [line.partition(":") for line in head.split("\r\n")[:-1]]
    fields = [[name.lower(), value.strip(" \t")] for name, _, value in lines]
    hosts = [value for name, value in fields if name == "host"]
    lengths = [value for name, value in fields if name == "content-length"]
    if len(hosts) != 1 or not _OF_ONE_HOP.isdisjoint(name for name, _ in fields):
        return None
    if (body and not lengths) or len(lengths) > 1 or any(not _is_length(text, len(body)) for text in lengths):
        return None
    pseudo = [[":method", method], [":scheme", "https"], [":authority", hosts[0]], [":path", target]]
    raw = (case.raw or "").encode("latin-1")
    return Converted(case, raw, pseudo + [field for field in fields if field[0] != "host"], body.encode("latin-1"))


def _is_length(text: str, size: int) -> bool:
    return text.isascii() and text.isdigit() and int(text) == size

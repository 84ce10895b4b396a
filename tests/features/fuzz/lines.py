"""Compares our reader of field lines with llhttp, which is strict in the same way: same verdict, same fields.

`python -m tests.features.fuzz.lines --inputs 10000000 --seed 1` reads as many heads. Run it on the compiled
tree as well: `python -m typed --run -m tests.features.fuzz.lines`. The first head that differs is printed.

What llhttp refuses, we refuse. What it admits is split into the same lines, with one exception: we refuse a transfer
coding with a tab behind it, which llhttp refuses in requests and takes for another coding in responses. What a valid
line means is not compared here.
"""

from __future__ import annotations

import argparse
import time
from random import Random

import httptools

from balancer.errors import ErrorKind, Refusal
from balancer.http1.fieldlines import FieldLineReader
from balancer.http1.heads import RequestHeadReader
from balancer.http1.responses import ResponseHeadReader
from balancer.model.settings import ProxySettings
from tests.features.fuzz.heads import Tally

Line = tuple[bytes, bytes]
Special = frozenset[bytes]

REQUEST_SPECIAL: Special = frozenset(
    (b"host", b"content-length", b"transfer-encoding", b"connection", b"expect", b"upgrade")
)
RESPONSE_SPECIAL: Special = frozenset((b"content-length", b"transfer-encoding", b"connection", b"upgrade"))

_VALID_NAMES = (
    *(b"Host", b"host", b"X-A", b"x_a", b"Accept", b"User-Agent", b"Cookie", b"X-Request-ID", b"Connection"),
    *(b"Content-Length", b"content-length", b"Transfer-Encoding", b"Expect", b"Set-Cookie", b"Vary", b"Upgrade"),
    b"!#$%&'*+-.^_`|~",
)
_NAMES = (*_VALID_NAMES, b"", b" X", b"X ", b"X\t", b"X(", b"\xe9", b"a\x00", b"X\r", b"X\n")
_VALUES = (
    *(b"app.test", b"a", b"", b"*/*", b"keep-alive", b"close", b"Upgrade", b"websocket", b"5", b"0", b"chunked"),
    *(b"a: b", b"100-continue", b"caf\xc3\xa9", b"\xff", b"x" * 70, b"5, 5", b"gzip, chunked", b"chunked, chunked"),
    *(b"1_0", b"+1"),
)
_BEFORE = (b"", b" ", b" ", b" ", b"\t", b"  ", b" \t")
_AFTER = (b"", b"", b"", b"", b" ", b"\t", b" \t ")
_BROKEN = (
    *(
        b"\x00",
        b"\r",
        b"\n",
        b"\t",
        b" ",
        b":",
        b"\x01",
        b"\x0b",
        b"\x0c",
        b"\x1f",
        b"\x7f",
        b"\x80",
        b"\r\n",
        b"\r\n ",
    ),
    *(b"\r\n\t", b"\n\n", b"\r\r\n", b";", b'"', b"("),
)
_REQUEST_LINES = (b"GET / HTTP/1.1", b"POST /a?b HTTP/1.1", b"GET /x HTTP/1.0", b"PUT /%2e//./ HTTP/1.1")
_STATUS_LINES = (
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 204 ",
    b"HTTP/1.0 304",
    b"HTTP/1.1 103 Early Hints",
    b"HTTP/1.1 404 \xff",
)


class _Found:
    """What llhttp reports."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.lines.append((name, value.rstrip(b" \t")))


def lines_by_llhttp(head: bytes, *, is_response: bool) -> list[Line] | None:
    """The lines of a head by llhttp, without white space around their values; None if it refuses the head."""
    found = _Found()
    parser = httptools.HttpResponseParser(found) if is_response else httptools.HttpRequestParser(found)
    try:
        parser.feed_data(head)
    except httptools.HttpParserUpgrade:
        pass
    except httptools.HttpParserError:
        return None
    return found.lines


def lines_by_us(head: bytes, special: Special) -> list[Line] | None:
    """The same by our reader. The special ones come first, in lower case as it says them."""
    reader = FieldLineReader(special, ErrorKind.BAD_REQUEST, lambda name: b"\r\n" + name + b": ")
    try:
        found = reader.read(head.split(b"\r\n")[1:-2])
    except Refusal:
        return None
    assert b"".join(found.onward) == b"".join(
        b"\r\n%b: %b" % (name, value) for name, (_, value) in zip(found.names, found.fields, strict=True)
    )
    assert [name.lower() for name in found.names] == [name for name, _ in found.fields]
    return [*found.special, *((name, value) for name, (_, value) in zip(found.names, found.fields, strict=True))]


def in_our_order(lines: list[Line], special: Special) -> list[Line]:
    """Lines as `lines_by_us` says them."""
    first = [(name.lower(), value) for name, value in lines if name.lower() in special]
    return first + [line for line in lines if line[0].lower() not in special]


class Comparison:
    """Reads heads in both ways. The readers of whole heads remember lines of earlier heads, as in a worker."""

    def __init__(self) -> None:
        self._requests, self._responses = RequestHeadReader(ProxySettings()), ResponseHeadReader()

    def check(self, head: bytes, *, is_response: bool) -> bool:
        """Whether the whole head is admitted. Raises AssertionError if llhttp reads it differently."""
        special = RESPONSE_SPECIAL if is_response else REQUEST_SPECIAL
        theirs = lines_by_llhttp(head, is_response=is_response)
        read = self._read(head, is_response=is_response)
        if theirs is None:
            assert read is None, "llhttp refuses what we admit"
            return False
        ours = lines_by_us(head, special)
        if ours is None:
            assert any(name.lower() == b"transfer-encoding" for name, _ in theirs), "we refuse what llhttp admits"
            assert b"\t" in head, "we refuse what llhttp admits"
            return False
        theirs = in_our_order(theirs, special)
        assert ours == theirs, f"llhttp reads {theirs}, we read {ours}"
        if read is not None:
            plain = [line for line in theirs if line[0].lower() not in special]
            assert [(name.lower(), value) for name, value in plain] == read, f"a reader of whole heads reads {read}"
        return read is not None

    def _read(self, head: bytes, *, is_response: bool) -> list[Line] | None:
        """The fields that are not special; None for a head that is refused."""
        try:
            if not is_response:
                return list(self._requests.read(head).fields)
            response = self._responses.read(head, b"GET")
        except Refusal:
            return None
        # A length that belongs to no body passes as a field.
        return [field for field in response.fields if field[0] != b"content-length"]


def made(random: Random, *, is_response: bool) -> bytes:
    """A whole head with up to five lines, of which some are broken."""
    choice, chance = random.choice, random.random
    lines = [choice(_STATUS_LINES if is_response else _REQUEST_LINES)]
    if chance() < 0.8:
        lines.append(b"Host: app.test")
    for _ in range(int(chance() * 6)):
        valid = chance() < 0.9
        name = choice(_VALID_NAMES if valid else _NAMES)
        line = name + b":" + choice(_BEFORE) + choice(_VALUES) + choice(_AFTER)
        if chance() < 0.12:
            place = int(chance() * (len(line) + 1))
            line = line[:place] + choice(_BROKEN) + line[place + int(chance() * 2) :]
        elif chance() < 0.05:
            place = int(chance() * len(line))
            line = line[:place] + bytes((int(chance() * 256),)) + line[place + 1 :]
        lines.append(line)
    head = b"\r\n".join(lines) + b"\r\n\r\n"
    return head[: head.index(b"\r\n\r\n") + 4]


def run(*, inputs: int, seed: int) -> Tally:
    """Compares `inputs` heads made from `seed`. Raises AssertionError with the first that is read differently."""
    random, comparison = Random(seed), Comparison()
    accepted, started = 0, time.perf_counter()
    for number in range(inputs):
        is_response = number % 4 == 3
        head = made(random, is_response=is_response)
        try:
            accepted += comparison.check(head, is_response=is_response)
        except Exception as error:
            error.add_note(f"head {number} of seed {seed}: {head!r}")
            raise
    return Tally(inputs, accepted, inputs - accepted, time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tally = run(inputs=options.inputs, seed=options.seed)
    print(
        f"{tally.inputs} heads in {tally.seconds:.0f} s (seed {options.seed}): "
        f"{tally.accepted} accepted, {tally.refused} refused, none read differently from llhttp"
    )


if __name__ == "__main__":
    main()

"""What a gate, an edit or a body filter does to one request is in no other, whoever shares its connections.

Many users behind front proxies: their requests come pipelined on kept connections, with the same fields, and go on over
shared connections to one endpoint. A gate waits or not and adds to some requests; the endpoint tells what it got.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.live import LiveTable
from balancer.matching.gates.verdicts import About, Asked, Go, Resume, Verdict, Waiting
from balancer.model.gates import SourceRanges
from balancer.model.settings import Compression, ProxySettings
from tests import builders
from tests.fakes.clients import Response
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.properties import examples
from tests.unit.balancer.proxy.standing import Standing, get, shop, standing

pytestmark = pytest.mark.large

SETTINGS = ProxySettings(response_fields=(("X-Added", "1"),), compression=Compression(min_bytes=1, types=("*",)))
MARK = re.compile(rb"(?i)\r\nx-user: (\w+)\r\n")


class Request(msgspec.Struct, frozen=True):
    """What one user sends: through the gate or not, with a claim of the own or not, accepting gzip or not."""

    gated: bool
    waits: bool
    claims: bool
    accepts: bool

    def written(self, number: int) -> bytes:
        fields = [b"X-User: mallory"] if self.claims else []
        fields += [b"Accept-Encoding: gzip"] if self.accepts else []
        place = b"gated" if self.gated else b"open"
        return get(b"/%b/%d/%d" % (place, number, self.waits), *fields)


@st.composite
def user(draw: st.DrawFn) -> tuple[bool, list[Request]]:
    """Whether a user pipelines, and the requests. Most have the same fields, so that connections recognise them."""
    claims, accepts, differs = draw(st.booleans()), draw(st.booleans()), draw(st.integers(0, 4)) == 0
    own = st.booleans() if differs else st.just(claims)
    requests = st.builds(Request, st.booleans(), st.booleans(), own, st.booleans() if differs else st.just(accepts))
    return draw(st.booleans()), draw(st.lists(requests, min_size=1, max_size=5))


USERS = st.lists(user(), min_size=1, max_size=3)


class Marking:
    """A gate that gives each request the number in its path as its user, at once or in a later turn of the loop."""

    def describe(self) -> About:
        return About()

    def judge(self, asked: Asked, resume: Resume) -> Verdict | Waiting:
        _, _, number, waits = asked.request.path.split(b"/")
        go = Go(((b"X-User", b"u" + number),), frozenset((b"x-user",)))
        if waits == b"0":
            return go
        return Later(asyncio.get_running_loop().call_soon(resume, go))


class Later(Waiting):
    def __init__(self, handle: asyncio.Handle) -> None:
        self._handle = handle

    def cancel(self) -> None:
        self._handle.cancel()


async def tells(visit: Visit) -> None:
    """Answers each request with its own target and user, twice so that compressing it changes it."""
    while True:
        head = await visit.head()
        said = json.dumps([head.split(b" ")[1].decode(), [user.decode() for user in MARK.findall(head)], "x" * 50])
        await visit.send(
            b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: "e"\r\nContent-Length: %d\r\n\r\n%b'
            % (len(said), said.encode())
        )


async def one(proxy: Standing, requests: list[Request], *, pipelines: bool) -> list[Response]:
    """The responses to the requests of one user, sent in one piece or one after the other on one connection."""
    written = [each.written(number) for number, each in enumerate(requests)]
    async with proxy.client() as client:
        if not pipelines:
            return [await client.ask(each) for each in written]
        client.send(b"".join(written))
        return [await client.response() for _ in requests]


def check(number: int, request: Request, response: Response) -> None:
    body = gzip.decompress(response.body) if request.accepts else response.body
    target, users, _ = json.loads(body)
    own = [f"u{number}"] if request.gated else ["mallory"] * request.claims
    assert target.split("/")[2] == str(number)
    assert users == own
    assert response.head.count(b"X-Added: 1") == 1
    assert response.head.count(b"Vary: Accept-Encoding") == 1
    assert response.head.count(b"Content-Encoding: gzip") == request.accepts
    assert response.fields[b"etag"] == (b'W/"e"' if request.accepts else b'"e"')


async def play(users: list[tuple[bool, list[Request]]]) -> None:
    async with ScriptedEndpoint(tells) as endpoint:
        gated = msgspec.structs.replace(builders.route("/gated"), gates=(SourceRanges(),))
        hosts = [builders.host("shop.test", gated, builders.route("/open"))]
        live = LiveTable(lambda limit: 0, lambda _: Marking())
        async with standing(shop([endpoint], hosts=hosts, settings=SETTINGS), live=live) as proxy:
            answers = await asyncio.gather(
                *(one(proxy, requests, pipelines=pipelines) for pipelines, requests in users)
            )
    for (_, requests), responses in zip(users, answers, strict=True):
        for number, (request, response) in enumerate(zip(requests, responses, strict=True)):
            check(number, request, response)


@examples(40)
@given(USERS)
def test_nothing_of_one_request_is_in_another(users: list[tuple[bool, list[Request]]]) -> None:
    asyncio.run(play(users))

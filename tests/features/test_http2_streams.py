"""Many requests at a time on one connection: nothing of one reaches another, neither its fields nor its route's."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.features.http2 import frames
from tests.features.http2.cases import Way, block
from tests.features.http2.playing import connected, new_address
from tests.features.http2.running import ENGINES
from tests.features.http2.stage import staged

_REQUESTS = 100
_ORIGIN = "https://page.test"
_ANNOTATIONS = {
    "app.test": {
        "nginx.ingress.kubernetes.io/enable-cors": "true",
        "nginx.ingress.kubernetes.io/cors-allow-origin": _ORIGIN,
        "nginx.ingress.kubernetes.io/upstream-vhost": "inner.test",
    },
    "victim.test": {"nginx.ingress.kubernetes.io/denylist-source-range": "203.0.113.0/24"},
}
_INNER = {"app.test": b"inner.test", "victim.test": b"victim.test"}


class _Asked:
    """One request, and the frames of it that are still to be sent."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.number, self.host = number, chance.choice(sorted(_INNER))
        self.own = str(chance.random()).encode()
        self.body = chance.randbytes(chance.choice([0, 1, 300, 5_000]))
        method = "POST" if self.body else "GET"
        pseudo = [[":method", method], [":scheme", "https"], [":authority", self.host], [":path", f"/{number}"]]
        fields = [*pseudo, ["x-own", self.own.decode()], ["origin", _ORIGIN]]
        flags = frames.END_HEADERS | (0 if self.body else frames.END_STREAM)
        self.frames = [frames.frame(frames.HEADERS, flags, number, block(fields))]
        cuts = sorted(chance.sample(range(len(self.body)), min(3, len(self.body))))
        for begin, end in zip([0, *cuts], [*cuts, len(self.body)], strict=True):
            if self.body:
                self.frames.append(frames.frame(frames.DATA, int(end == len(self.body)), number, self.body[begin:end]))


@pytest.mark.parametrize("engine", ENGINES)
async def test_nothing_of_a_request_reaches_another(engine: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    async with staged(tmp_path, engine, annotations=_ANNOTATIONS) as stage:
        peer = await connected(stage.zonal.https_port, new_address(), stage.tls)
        await peer.write_in([frames.PREFACE, frames.settings([])], Way.ONE_WRITE)
        asked = [_Asked(number, chance) for number in range(1, 2 * _REQUESTS, 2)]
        await peer.write_in(_shuffled(asked, chance), Way.FRAMES)
        await peer.until(lambda: all(peer.streams[each.number].is_over for each in asked), 30)
        received = {request.target: request for endpoint in stage.http1.values() for request in endpoint.received}
        if peer.transport is not None:
            peer.transport.abort()
    assert len(received) == _REQUESTS
    for each in asked:
        request, answer = received[b"/%d" % each.number], peer.streams[each.number]
        assert (request.values(b"x-own"), request.body) == ([each.own], each.body)
        assert (request.host, request.service) == (_INNER[each.host], each.host.removesuffix(".test"))
        assert (answer.status, answer.value(b"x-own"), bytes(answer.body)) == (200, each.own, b"ok")
        assert (answer.value(b"access-control-allow-origin") is not None) is (each.host == "app.test")


def _shuffled(asked: list[_Asked], chance: random.Random) -> list[bytes]:
    """The frames of all requests: heads in the order of their numbers, bodies in any."""
    left, frames_in_turn, begun = list(asked), list[bytes](), list[_Asked]()
    while left or begun:
        if left and (not begun or chance.random() < 0.4):
            begun.append(left.pop(0))
            frames_in_turn.append(begun[-1].frames.pop(0))
        else:
            each = chance.choice(begun)
            if each.frames:
                frames_in_turn.append(each.frames.pop(0))
        begun = [each for each in begun if each.frames]
    return frames_in_turn

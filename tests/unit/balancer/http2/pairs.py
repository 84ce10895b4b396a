"""Two engines that speak to each other."""

from __future__ import annotations

from balancer.http2 import engine
from balancer.http2.engine import CLIENT, SERVER, Engine
from balancer.http2.engines import BINDING, H2, NGH2, make_engine
from balancer.http2.events import EngineLimits, Event

GET = ((b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"app.test"), (b":path", b"/"))
POST = ((b":method", b"POST"), *GET[1:])
IS_COMPILED = not str(engine.__file__).endswith(".py")
LIBRARIES = (NGH2, BINDING, H2)
"""On the plain source the first two are one, so that its tests have the names of those on the wheel."""
OK = ((b":status", b"200"),)


class Pair:
    """A client and a server, after their settings."""

    def __init__(self, limits: EngineLimits | None = None, *, client: str = NGH2, server: str = NGH2) -> None:
        """`client` and `server` are the libraries of the two."""
        limits = limits or EngineLimits()
        self.client = make_engine(CLIENT, limits, client)
        self.server = make_engine(SERVER, limits, server)
        self.pump()

    def pump(self) -> tuple[list[Event], list[Event]]:
        """Carries bytes to and fro until none are left. What the client heard of, and what the server."""
        heard: list[Event] = []
        served: list[Event] = []
        while True:
            said, heard_of = _taken(self.client)
            answered, served_of = _taken(self.server)
            heard += heard_of
            served += served_of
            if not said and not answered:
                return heard, served
            heard += self.client.receive(answered, 0.0)
            served += self.server.receive(said, 0.0)


def _taken(engine: Engine) -> tuple[bytes, list[Event]]:
    """What `engine` has to say, and what comes of it: nothing if it says that there is nothing."""
    may_say = engine.has_bytes()
    taken = engine.take_bytes(), engine.take_events()
    assert may_say or taken == (b"", [])
    return taken

"""What one request holds until it is over: counts of gates, and the pace of its response."""

from __future__ import annotations

from collections.abc import Callable

from balancer.errors import AttemptError
from balancer.model.policies import RoutePolicy
from balancer.proxy.attempts import Job
from balancer.proxy.pacing import PacedStream


class Holding(Job):
    """Forwards one request that may hold something. `held` are the functions that give it back at the end."""

    __slots__ = ("held",)

    held: tuple[Callable[[], None], ...]

    def hold(self, release: Callable[[], None]) -> None:
        self.held += (release,)

    def pace(self, policy: RoutePolicy) -> None:
        if not isinstance(self.stream, PacedStream):
            self.stream = stream = PacedStream(self.stream, policy, self.alarm)
            self.hold(stream.stop)

    def lets_go(self) -> bool:
        """Gives back what is held. False: the response is still being written, and `forwarded` is called after that."""
        stream = self.stream
        if isinstance(stream, PacedStream) and not stream.is_delivered(self._delivered):
            return False
        held, self.held = self.held, ()
        for release in held:
            release()
        return True

    def _delivered(self, error: AttemptError | None) -> None:
        self.forwarded(error)  # a typed method itself cannot be handed out

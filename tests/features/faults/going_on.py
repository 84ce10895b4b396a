"""hyper-h2 for clients that go on behind a GOAWAY: it reads nothing more then, though answers are still to come."""

from __future__ import annotations

from h2.connection import ConnectionState, H2Connection
from h2.events import Event
from hyperframe.frame import Frame, GoAwayFrame


class GoingOn(H2Connection):
    """The same, but for what it makes of GOAWAY (RFC 9113 6.8)."""

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        received = super()._receive_goaway_frame(frame)
        self.state_machine.state = ConnectionState.CLIENT_OPEN
        return received

"""One relay: a connection of a client and one to an endpoint, whose bytes go from one to the other.

What follows from an event is decided in `states`; this module carries that out.
"""

from __future__ import annotations

from collections.abc import Callable

from balancer.connections.arrivals import Arrival
from balancer.connections.proxyprotocol import proxy_header, proxy_line
from balancer.connections.raw import RawConnection
from balancer.connections.raw_pools import RawStream
from balancer.errors import ErrorKind
from balancer.http.streams import Connection, RequestServer
from balancer.model.entry_points import Protocol
from balancer.relays.accounts import RelayAccount
from balancer.relays.reaching import Reaching
from balancer.relays.states import AfterEnd, End, Fault, Halves
from balancer.relays.tools import RelayTools
from balancer.runtime.deadlines import NEVER, Watched

_COUNTED_BYTES = 16 * 1024 * 1024  # bytes of a long stream count in metrics before its end


class Relay(Connection):
    """A relay, from the moment in which its client has a transport.

    `closed`, `deadline`, `next_look` and `place` are those of `runtime.deadlines.Watched`.
    """

    __slots__ = (
        "_endpoint",
        "_halves",
        "_held",
        "_on_open",
        "_over",
        "_reaching",
        "_tools",
        "account",
        "arrival",
        "client",
        "closed",
        "deadline",
        "end",
        "entry_point",
        "idle_since",
        "next_look",
        "place",
    )

    def __init__(self, arrival: Arrival, tools: RelayTools, on_open: Callable[[Connection], None]) -> None:
        self._tools = tools
        self._on_open = on_open
        self._over: Callable[[], None] | None = None
        protocol = "TCP" if arrival.entry_point.protocol is Protocol.TCP else "TLS"
        self.account = RelayAccount(arrival.peer, arrival.server_name or "", protocol)
        self.client = RawConnection(self, is_client=True)
        self._endpoint: RawConnection | None = None
        self._reaching: Reaching | None = None
        self._halves = Halves()
        self._held = [0, 0]  # bytes that wait to be read, by the endpoint and by the client
        self.arrival = arrival
        self.entry_point = arrival.entry_point
        self.idle_since = 0.0
        self.end: End = None
        self.closed = False
        self.deadline = NEVER
        self.next_look = NEVER
        self.place: dict[Watched, None] | None = None

    def begin(self, reaching: Reaching, over: Callable[[], None], now: float) -> None:
        """Reaches an endpoint. `over` is called when nothing of the relay is left. `now` is of `time.perf_counter`."""
        self._over = over
        self._reaching = reaching
        reaching.begin(now)

    def refuse(self, end: End, over: Callable[[], None]) -> None:
        """Resets the client at once."""
        self._over = over
        self.cut(end)

    def cut(self, end: End) -> None:
        """Resets both sides. `end` says why."""
        if self.end is None:
            self.end = end
        self.client.abort()
        if self._endpoint is not None:
            self._endpoint.abort()

    # What whoever holds connections calls.

    @property
    def idle(self) -> bool:
        return False

    def start(self, server: RequestServer) -> None:
        """Does nothing: a relay carries no requests."""

    def end_soon(self) -> None:
        """Does nothing: a stream of bytes has no message that asks its peer to leave."""

    def shut_down(self, idle_before: float, ends_tunnels: bool) -> None:
        if not ends_tunnels or self.end is not None:
            return
        self.end = Fault.DRAINED
        if self._endpoint is None or not self._endpoint.finish():
            self.cut(Fault.DRAINED)

    def abort(self) -> None:
        self.cut(Fault.DRAINED)

    # What reaching an endpoint calls.

    def reached(self, stream: RawStream) -> None:
        endpoint, tools = stream.connection, self._tools
        if self.client.closed:
            self.end = self.end or ErrorKind.CLIENT_LEFT
            endpoint.abort()
            return self._end_if_lost()
        self._endpoint = endpoint
        tools.accounting.connected(self.account)
        if endpoint.closed:
            return self.cut(ErrorKind.ENDPOINT_CLOSED)
        self._move_deadline()
        if header := self._header():
            endpoint.write(header)
        endpoint.resume()
        self.client.resume()

    def unreached(self, kind: ErrorKind) -> None:
        self.cut(kind)

    # What the two connections call.

    def raw_made(self, end: RawConnection) -> None:
        if end.is_client:
            self._on_open(self)

    def raw_came(self, end: RawConnection, data: bytes) -> None:
        other = self._endpoint if end.is_client else self.client
        if other is None:
            return
        tools = self._tools
        self.deadline = tools.now() + tools.idle_seconds()
        if self._held[other.is_client] <= 0:
            self._held[other.is_client] = -len(data)  # counts if the other side becomes full by it
        other.write(data)
        counted = self.account.counted
        if self.client.carried_bytes + self._carried_back() - sum(counted) > _COUNTED_BYTES:
            tools.accounting.carried(self.account, self.client.carried_bytes, self._carried_back())

    def raw_ended(self, end: RawConnection) -> None:
        step = self._halves.ended(is_client=end.is_client)
        other = self._endpoint if end.is_client else self.client
        if step is AfterEnd.NOTHING or other is None:
            return
        self._move_deadline()
        if step is AfterEnd.CLOSE or not other.finish():
            self._close()

    def raw_lost(self, end: RawConnection, error: Exception | None) -> None:
        if not end.is_client:
            self._tools.pools.lost(end, end.namespace)
        if end is not self.client and end is not self._endpoint:
            return
        other = self._endpoint if end.is_client else self.client
        is_orderly = error is None and self._halves.has_ended(is_client=end.is_client)
        if self.end is None and not is_orderly and not (other is not None and other.closed):
            self.end = ErrorKind.CLIENT_LEFT if end.is_client else ErrorKind.ENDPOINT_CLOSED
        if other is not None and not other.closed:
            if is_orderly:
                other.close()
            else:
                other.abort()
        self._end_if_lost()

    def raw_full(self, end: RawConnection) -> None:
        self._free(end)
        size = abs(self._held[end.is_client])
        self._held[end.is_client] = self._tools.room.hold(self._tenant(), size)
        other = self._endpoint if end.is_client else self.client
        if other is not None:
            other.hold()

    def raw_freed(self, end: RawConnection) -> None:
        self._free(end)
        self._held[end.is_client] = 0
        other = self._endpoint if end.is_client else self.client
        if other is not None and not self._halves.has_ended(is_client=other.is_client):
            other.resume()

    def reads_little(self) -> bool:
        return self._tools.room.is_crowded(self._tenant())

    def expire(self) -> None:
        """Nothing has passed for too long (`runtime.deadlines.Watched`)."""
        self.cut(Fault.IDLE)

    def _close(self) -> None:
        self.client.close()
        if self._endpoint is not None:
            self._endpoint.close()

    def _free(self, end: RawConnection) -> None:
        """Gives back what `end` had left unread; a negative number is a size that nobody has counted."""
        held = self._held[end.is_client]
        if held > 0:
            self._tools.room.free(self._tenant(), held)
            self._held[end.is_client] = 0

    def _tenant(self) -> str:
        target = self.account.target
        return "" if target is None else target.names.namespace

    def _carried_back(self) -> int:
        return 0 if self._endpoint is None else self._endpoint.carried_bytes

    def _header(self) -> bytes:
        """The PROXY header for the endpoint, empty for none. Who sent one to us has told no port of the client."""
        target = self.account.target
        if target is None or target.branch.backend is None:
            return b""
        runtime = self._tools.backends().get(target.branch.backend)
        as_line = target.route.sends_proxy_line
        if not as_line and (runtime is None or not runtime.backend.sends_proxy_header):
            return b""
        arrival, client = self.arrival, self.client
        address, port = client.local_address()
        source = (arrival.peer, 0 if arrival.port is not None else client.peer_port())
        write = proxy_line if as_line else proxy_header
        return write(source, (address, port if arrival.port is None else arrival.port))

    def _move_deadline(self) -> None:
        tools = self._tools
        tools.deadlines.arm(self, tools.now() + tools.idle_seconds())

    def _end_if_lost(self) -> None:
        """Closes the account when nothing of the relay is left."""
        if not self.client.closed or (self._endpoint is not None and not self._endpoint.closed):
            return
        over = self._over
        self._over = None
        if over is None:
            return
        self.closed = True
        self._free(self.client)
        if self._endpoint is not None:
            self._free(self._endpoint)
        if self._reaching is not None:
            self._reaching.leave()
        tools = self._tools
        tools.deadlines.forget(self)
        sent, received = self.client.carried_bytes, self._carried_back()
        tools.accounting.close(self.account, self.end, sent=sent, received=received, logged=tools.logged())
        over()

"""Connects to one endpoint for relays: a connection each, never shared or kept. Does not know what it carries."""

from __future__ import annotations

from balancer.connections.kept import KeptConnections
from balancer.connections.raw import RawConnection, RawOwner
from balancer.http.streams import EndpointStream, Pool
from balancer.model.handshakes import Handshake
from balancer.picking.members import Member
from balancer.runtime.waiting import Bounded


class RawStream(EndpointStream):
    """A new connection to an endpoint, until a relay takes it."""

    __slots__ = ("connection",)

    def __init__(self, connection: RawConnection) -> None:
        self.connection = connection

    def release(self) -> None:
        """Nobody takes the connection any more."""
        self.connection.abort()


class RawPool(Pool):
    """Makes the connection of one relay to `member`; `tls` None: without TLS.

    The pool belongs to one connect, so only that one is told when the endpoint leaves its backend.
    """

    __slots__ = ("_member", "_owner", "_pools", "_tls")

    def __init__(self, member: Member, tls: Handshake | None, pools: KeptConnections, owner: RawOwner) -> None:
        self._member = member
        self._tls = tls
        self._pools = pools
        self._owner = owner
        self.awaited = set()

    def lease(self, fresh: bool) -> EndpointStream | None:
        return None

    def drop_idle(self) -> None:
        """There are none."""

    async def connect(self, timeout_seconds: float) -> RawStream:
        pools, member = self._pools, self._member
        share = pools.idle.join(member.namespace, self)
        try:
            async with Bounded(timeout_seconds, pools.deadlines.absences):
                connection = await pools.dialled(
                    member,
                    lambda: RawConnection(self._owner, is_client=False, namespace=member.namespace),
                    self._tls,
                    share,
                    raw=True,
                )
        finally:
            pools.idle.leave(share, self)
        return RawStream(connection)

    def end_idle(self) -> bool:
        """None is idle (`idle_shares.IdlePool`)."""
        return False

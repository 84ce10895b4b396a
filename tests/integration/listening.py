"""One replica on a real port, of which the workers are played, and what anybody can send to it."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from balancer.model.zones import FleetUse, Zone, ZoneFacts, ZonePolicy, ZonePolicyName, ZoneTraffic
from balancer.sharing.memory import alone
from balancer.workers.messages import SuspectRow
from ingress.replicas.conversation import Conversation, ConversationOptions
from ingress.replicas.sharing import Ends
from ingress.replicas.trust import PEER_NAME, ReplicaCredentials, credentials_of
from tests import builders as build
from tests.fakes.sockets import free_ports

SECRET = b"a secret of replicas that nobody can guess"
MODEL = build.model(build.backend("shop/cart:80", zone_policy=ZonePolicy(ZonePolicyName.PROPORTIONAL)))


class One:
    """A replica that hears others, and what followed from that."""

    def __init__(
        self,
        port: int,
        name: str = "zonal-0",
        use: FleetUse = FleetUse.ON,
        credentials: ReplicaCredentials | None = None,
    ) -> None:
        model = msgspec.structs.replace(MODEL, zones=ZoneFacts(fleet=use))
        self.port = port
        self.used: list[tuple[tuple[str, ZoneTraffic], ...]] = []
        self.suspects: list[SuspectRow] = []
        self.places: tuple[str, ...] = ()
        self.crowded: list[bool] = []
        self.expired: list[tuple[str, ...]] = []
        ends = Ends(
            totals=lambda services: dict.fromkeys(services, 0),
            answers=dict,
            model=lambda: model,
            use=self.use,
            memory=alone().among_replicas,
            failing=lambda: (),
            suspect=self.suspects.extend,
            left=lambda: (),
            events=lambda _: None,
            flows=dict,
            places=lambda: self.places,
            crowded=self.crowded.append,
            expired=self.expired.append,
        )
        options = ConversationOptions("127.0.0.1", port, (), name)
        self.conversation = Conversation(options, credentials or credentials_of(SECRET), ends)

    def use(self, traffic: tuple[tuple[str, ZoneTraffic], ...] | None, sick: tuple[Zone, ...] | None) -> None:
        assert sick is None
        if traffic is not None:
            self.used.append(traffic)

    async def hears(self, sender: ReplicaCredentials, data: bytes) -> int:
        """What it answers to a message: the status. 0: it closes the stream because the message is too long."""
        async with aiohttp.ClientSession() as session:
            url = f"https://127.0.0.1:{self.port}/converse"
            try:
                async with session.ws_connect(url, ssl=sender.client, server_hostname=PEER_NAME) as stream:
                    await stream.send_bytes(data)
                    answer = await stream.receive()
                    return int(answer.data.split()[0]) if answer.type is aiohttp.WSMsgType.TEXT else 0
            except aiohttp.WSServerHandshakeError as refused:  # nothing of that sender is read now
                return refused.status

    async def hears_older(self, sender: ReplicaCredentials, data: bytes | io.BytesIO) -> int:
        """The same for a sender of schema 1."""
        async with aiohttp.ClientSession() as session:
            url = f"https://127.0.0.1:{self.port}/tell"
            async with session.post(url, data=data, ssl=sender.client, server_hostname=PEER_NAME) as answer:
                return answer.status

    def refused(self) -> dict[str, int]:
        return {reason: count for reason, count in self.conversation.facts().refused.items() if count}

    def peers(self) -> dict[str, int]:
        return {state: count for state, count in self.conversation.facts().peers.items() if count}


@asynccontextmanager
async def listening(
    name: str = "zonal-0", use: FleetUse = FleetUse.ON, credentials: ReplicaCredentials | None = None
) -> AsyncIterator[One]:
    one = One(free_ports(1)[0], name, use, credentials)
    await one.conversation.start()
    running = asyncio.create_task(one.conversation.run())
    try:
        yield one
    finally:
        running.cancel()
        await asyncio.wait({running})
        await one.conversation.close()


def said(number: int, **fields: Any) -> bytes:
    return msgspec.msgpack.encode({"number": number, "zone": "zone-b", "seconds": 5.0, **fields})

"""Three replicas with two workers each, in network namespaces of their own.

What goes between replicas passes through the test, which delays it, loses it, and cuts links. Load and endpoints have
no such links.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tests.integration.conversing import SECRET, comes
from tests.integration.namespaces import Network, bridge_into, bridge_out_of, network
from tests.integration.running import Zonal, started
from tests.integration.shop import Shop, shop

ZONES = ("zone-a", "zone-b", "zone-c")
PEER_PORT = 9443
DELAY_SECONDS, LOSS = 0.001, 0.05


class Fleet(NamedTuple):
    """A replica in each zone, and the network between them."""

    zonals: tuple[Zonal, Zonal, Zonal]
    links: Network
    opened: Shop

    @property
    def zones(self) -> dict[str, str]:
        """The zone of each endpoint."""
        return {endpoint.label: endpoint.zone or "" for endpoint in self.opened.endpoints}

    async def all_hear(self, others: float) -> None:
        for zonal in self.zonals:
            await comes(zonal, others, "zonal_fleet_peers", state="up")


@asynccontextmanager
async def fleet(
    place: Path,
    endpoints: Mapping[str, int],
    settings: Mapping[str, str] = MappingProxyType({}),
    *,
    spares: int = 0,
    environments: Sequence[Mapping[str, str]] = ({}, {}, {}),
) -> AsyncIterator[Fleet]:
    """A replica in each zone, each with an environment. At `spares` more addresses there is nobody yet."""
    (place / "secret").write_bytes(SECRET)
    names = [f"zonal-{os.getpid()}-{zone}" for zone in ZONES]
    more = [f"zonal-{os.getpid()}-spare-{number}" for number in range(spares)]
    async with AsyncExitStack() as stack:
        links = await stack.enter_async_context(network([*names, *more], delay_seconds=DELAY_SECONDS, loss=LOSS))
        opened = await stack.enter_async_context(shop(place, endpoints, **settings))
        zonals = [
            await stack.enter_async_context(replica(zone, name, links, opened, environment))
            for zone, name, environment in zip(ZONES, names, environments, strict=True)
        ]
        made = Fleet((zonals[0], zonals[1], zonals[2]), links, opened)
        await made.all_hear(2.0)
        yield made


@asynccontextmanager
async def replica(
    zone: str, name: str, links: Network, opened: Shop, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Zonal]:
    """A replica in a zone, which runs in the namespace with this name. The test may end it."""
    place = opened.place.parent
    folder = place / name
    folder.symlink_to(opened.place)
    options = [f"--zone={zone}", f"--peer-port={PEER_PORT}", f"--peer-secret={place / 'secret'}", "--workers=2"]
    options += [f"--peer={links.address(each)}:{PEER_PORT}" for each in links.names]
    async with AsyncExitStack() as stack:
        for endpoint in opened.endpoints:
            await stack.enter_async_context(bridge_out_of(name, endpoint.port))
        through = ("ip", "netns", "exec", name)
        options.append("--shutdown-grace-period=0")
        zonal = await stack.enter_async_context(started(folder, *options, environment=environment, through=through))
        await zonal.is_serving()
        zonal.http_port = await stack.enter_async_context(bridge_into(name, zonal.http_port))
        zonal.admin_port = await stack.enter_async_context(bridge_into(name, zonal.admin_port))
        await zonal.is_ready()
        yield zonal
        if zonal.exit_status is None:
            await zonal.stop()

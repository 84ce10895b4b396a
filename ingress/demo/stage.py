"""Sets up the demo: backends, manifest folder, ingress and clients. Enters and measures a phase.

Orders how they start, change and stop, and leaves nothing of them at the end. Does not know what is printed.
"""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import aiohttp

from ingress.demo.backends import DemoBackends
from ingress.demo.calling import CallClient, CallTraffic
from ingress.demo.child import IngressEnded, IngressProcess, ingress_command, start_ingress
from ingress.demo.cluster import CALLS_SERVICE, HOST, SERVICE, ZONES, Situation, is_shown, manifests, write_manifests
from ingress.demo.observing import AdminPort
from ingress.demo.phases import DemoPhase, PhaseResult, result_of
from ingress.demo.traffic import HttpTraffic, Tally, Traffic

# Far above the time of any answer of the demo, so a longer request has failed.
_REQUEST_SECONDS = 10.0
# Ten calls for each endpoint, whatever the number of requests: a multiple of the endpoints spreads evenly.
CALLS_A_PHASE = 60


class Stage:
    """A running demo. Made by `open_stage`."""

    __slots__ = ("_backends", "_caller", "_gateway", "_session", "admin", "folder", "ingress", "own_zone")

    def __init__(
        self,
        *,
        own_zone: str,
        folder: Path,
        backends: DemoBackends,
        ingress: IngressProcess,
        session: aiohttp.ClientSession,
        caller: CallClient,
        gateway: bool = False,
    ) -> None:
        self.own_zone = own_zone
        self.folder = folder
        self.ingress = ingress
        self.admin = AdminPort(session, url=f"http://127.0.0.1:{ingress.admin_port}")
        self._backends = backends
        self._session = session
        self._caller = caller
        self._gateway = gateway

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ingress.http_port}/"

    def traffic(self, *, pause_seconds: float = 0.0) -> HttpTraffic:
        """Clients of this ingress; `pause_seconds` is how long each rests after an answer."""
        zones = self._zones_of_answers(SERVICE)
        return HttpTraffic(self._session, url=self.url, host=HOST, zones=zones, pause_seconds=pause_seconds)

    def calls(self, *, pause_seconds: float = 0.0) -> CallTraffic:
        """A client of gRPC, in the same way."""
        zones = self._zones_of_answers(CALLS_SERVICE)
        return CallTraffic(self._caller, host=HOST, zones=zones, pause_seconds=pause_seconds)

    async def tell(self, situation: Situation) -> None:
        """Writes the manifests and waits until the ingress serves them. Raises `ObservingFailed`."""
        endpoints = self._backends.endpoints
        write_manifests(self.folder, manifests(endpoints, situation, gateway=self._gateway))
        await self.admin.wait_until_model(lambda model: is_shown(model, endpoints, situation))

    def steps(self, phase: DemoPhase) -> tuple[Callable[[], Awaitable[None]], ...]:
        """The steps into a phase, in order: endpoints answer before they become ready, and stop after they become
        unready.
        """
        tell = partial(self.tell, Situation(phase.zone_aware, None if phase.own_zone_up else self.own_zone))
        if phase.own_zone_up:
            return partial(self._backends.start, [self.own_zone]), tell
        return tell, partial(self._backends.stop, [self.own_zone])

    async def measure(self, phase: DemoPhase, *, requests: int) -> tuple[PhaseResult, PhaseResult]:
        """Enters a phase under traffic, then sends exactly `requests` requests, and `CALLS_A_PHASE` calls.

        Returns the results of the requests and of the calls.
        """
        traffic, calls, change, calls_change = self.traffic(), self.calls(), Tally(), Tally()
        for step in self.steps(phase):
            # Between two steps every request has ended, so none is on its way to a backend that is about to stop.
            async with traffic.flowing(to=change), calls.flowing(to=calls_change):
                await step()
        return (
            await self._count(phase, SERVICE, traffic, requests, change),
            await self._count(phase, CALLS_SERVICE, calls, CALLS_A_PHASE, calls_change),
        )

    async def _count(
        self, phase: DemoPhase, service: str, traffic: Traffic, requests: int, change: Tally
    ) -> PhaseResult:
        tally, before = Tally(), await self.admin.account(service)
        await traffic.send(requests, to=tally)
        account = await self.admin.account_since(before, service, requests=requests)
        return result_of(phase, own_zone=self.own_zone, tally=tally, account=account, change=change)

    def _zones_of_answers(self, service: str) -> dict[bytes, str]:
        return {each.answer(): each.zone for each in self._backends.endpoints if each.service == service}


@asynccontextmanager
async def open_stage(*, own_zone: str, http_port: int, gateway: bool = False) -> AsyncIterator[Stage]:
    """Sets everything up with the flag off. After the block nothing of it is left. `gateway`: a Gateway has the port.

    If `http_port` is taken, any free port is used. Raises `IngressEnded` or `ObservingFailed`.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="zonal-demo-")))
        backends = DemoBackends()
        stack.push_async_callback(backends.close)
        await backends.start(ZONES)
        write_manifests(folder, manifests(backends.endpoints, Situation(), gateway=gateway))
        ingress = await _start(folder, zone=own_zone, http_port=http_port, gateway=gateway)
        stack.push_async_callback(ingress.stop)
        session = await stack.enter_async_context(
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_REQUEST_SECONDS))
        )
        caller = CallClient("127.0.0.1", ingress.http_port, seconds=_REQUEST_SECONDS)
        stack.callback(caller.close)
        stage = Stage(
            own_zone=own_zone,
            folder=folder,
            backends=backends,
            ingress=ingress,
            session=session,
            caller=caller,
            gateway=gateway,
        )
        await ingress.guard(stage.tell(Situation()))  # it accepts connections before it has read the folder
        yield stage


async def _start(folder: Path, *, zone: str, http_port: int, gateway: bool) -> IngressProcess:
    if gateway:
        return await _start_with_gateway(folder, zone=zone, http_port=http_port)
    try:
        return await start_ingress(ingress_command(folder, zone=zone, http_port=http_port))
    except IngressEnded as refusal:
        if not http_port:
            raise
        # A port can be taken between a check and its use, so the only reliable check is to try.
        print(f"zonal: port {http_port} cannot be used ({refusal}): taking a free one", file=sys.stderr, flush=True)
        return await start_ingress(ingress_command(folder, zone=zone, http_port=0))


async def _start_with_gateway(folder: Path, *, zone: str, http_port: int) -> IngressProcess:
    """An ingress whose port for clients is that of a Gateway."""
    for port in (http_port, _free_port()) if http_port else (_free_port(),):
        try:
            ingress = await start_ingress(ingress_command(folder, zone=zone, http_port=0, gateway_port=port))
        except IngressEnded as refusal:
            problem = refusal
            continue
        ingress.http_port = port
        return ingress
    raise problem


def _free_port() -> int:
    """A port that nobody has now. Ports of Gateways have to be named."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])

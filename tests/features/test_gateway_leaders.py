"""Two replicas that lead at once, or one after the other was killed, agree without talking, and nobody is misled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from tests.bench.gateway_churn.objects import (
    NAMESPACE,
    STAYING,
    Plan,
    gateway,
    gateway_class,
    route,
    services,
    slice_of,
)
from tests.fakes.apiserver import ApiServer
from tests.fakes.endpoints import ScriptedEndpoint, answering
from tests.features.gateway.api_stage import balance, free_range, furnish, options
from tests.features.gateway.api_stage import services as services_of_gateways
from tests.integration.running import Zonal

PLAN = Plan(listeners=2, routes=2)
PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.05
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Leaders:
    """Replicas with Leases of their own, so that each leads, and what they have made of the cluster."""

    def __init__(self, place: Path, server: ApiServer) -> None:
        self.server = server
        self._place = place
        self._kubeconfig = server.write_kubeconfig(place / "kubeconfig")
        self._ports = free_range(8)

    def start(self, number: int) -> Zonal:
        own = self._place / f"replica-{number}"
        own.mkdir()
        said = (f"--bind-address=127.0.0.{number}", f"--election-id=leader-{number}")
        return Zonal(own, *options(self._kubeconfig, self._ports, f"zonal-{number}"), *said)

    async def become(self, is_so: Callable[[], bool], *, balanced: bool = True) -> None:
        """Waits until something is so. Load balancers give addresses meanwhile, if it is to be `balanced`."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_so():
                if balanced:
                    balance(self.server)
                await asyncio.sleep(POLL_SECONDS)

    def condition(self, kind: str, name: str, wanted: str) -> tuple[str, int]:
        """Status and generation of a condition of an object, or of its first parent."""
        status: dict[str, Any] = (self.server.get(kind, NAMESPACE, name) or {}).get("status", {})
        said = (status.get("parents") or [status])[0].get("conditions", ())
        found = [each for each in said if each["type"] == wanted]
        return (found[0]["status"], found[0].get("observedGeneration", 0)) if found else ("", 0)

    def leases(self) -> set[str]:
        return {each["metadata"]["name"] for each in self.server.objects("Lease") if each["spec"].get("holderIdentity")}

    def is_programmed(self) -> bool:
        return self.condition("Gateway", STAYING, "Programmed")[0] == "True"


async def until_answered(address: str, port: int, host: str) -> None:
    """Waits until an endpoint answers a request. Before that a connection may be reset."""
    request = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(address, port)
                writer.write(request)
                line = await reader.readline()
                writer.close()
                if line.startswith(b"HTTP/1.1 200 "):
                    return
            await asyncio.sleep(POLL_SECONDS)


async def test_two_leaders_make_one_service_and_write_each_status_once(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer())
        endpoint = await stack.enter_async_context(ScriptedEndpoint(answering(OK)))
        furnish(server)
        documents = [gateway_class(), gateway(STAYING, [0, 1]), *services(), slice_of("s1", endpoint.port)]
        for each in (*documents, route(PLAN, 1, 0)):
            server.put(each)
        leaders = Leaders(tmp_path, server)
        for replica in [leaders.start(number) for number in (1, 2)]:
            stack.callback(replica.kill)
            await replica.is_serving()
        await leaders.become(lambda: {"leader-1", "leader-2"} <= leaders.leases())
        await leaders.become(leaders.is_programmed)
        (service,) = services_of_gateways(server).values()
        target = next(each["targetPort"] for each in service["spec"]["ports"] if each["port"] == 8002)
        for address in ("127.0.0.1", "127.0.0.2"):
            await until_answered(address, int(target), "h1.test")

        written = len(server.calls)
        known = server.get("HTTPRoute", NAMESPACE, "r1")
        assert known is not None
        server.put({**route(PLAN, 1, 1), "status": known["status"]})
        changed = server.get("HTTPRoute", NAMESPACE, "r1")
        assert changed is not None
        generation = changed["metadata"]["generation"]
        assert generation > known["metadata"]["generation"]
        await leaders.become(lambda: leaders.condition("HTTPRoute", "r1", "Accepted") == ("True", generation))
        calls = [each for each in server.calls[written:] if each.verb == "patch" and each.name == "r1"]
        assert sum(each.status == 200 for each in calls) == 1  # whoever comes second is refused


async def test_who_leads_after_one_was_killed_between_service_and_status_makes_no_other_service(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer())
        furnish(server)
        for each in (gateway_class(), gateway(STAYING, [0, 1]), *services()):
            server.put(each)
        leaders = Leaders(tmp_path, server)
        first = leaders.start(1)
        stack.callback(first.kill)
        # Without an address the status cannot say that the Gateway is programmed.
        await leaders.become(lambda: bool(services_of_gateways(server)), balanced=False)
        first.kill()
        (made,) = services_of_gateways(server).values()
        assert not leaders.is_programmed()

        stack.callback(leaders.start(2).kill)
        await leaders.become(leaders.is_programmed)
        (left,) = services_of_gateways(server).values()
        assert (left["metadata"]["uid"], left["spec"]["ports"]) == (made["metadata"]["uid"], made["spec"]["ports"])

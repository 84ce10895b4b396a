"""Cases on a real process that follows a fake API server, with a Service for each Gateway.

Statuses are those that the server has. What a cluster has beside an API server is played here: a load balancer, which
gives each Service of its type an address of its own.
"""

from __future__ import annotations

import asyncio
import random
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tests.fakes.apiserver import ApiServer
from tests.fakes.sockets import own_ports
from tests.features.gateway.cases import Case, Json, Step
from tests.features.gateway.documents import DEFINITION, Cluster
from tests.features.gateway.stage import GatewayStage
from tests.features.ingress_nginx.authorities import Authorities
from tests.integration.manifests import Document
from tests.integration.running import Zonal

KINDS = (
    *("BackendTLSPolicy", "GRPCRoute", "Gateway", "GatewayClass", "HTTPRoute", "ListenerSet", "ReferenceGrant"),
    *("TCPRoute", "TLSRoute", "UDPRoute"),
)
SERVED = frozenset(("v1", kind) for kind in KINDS)
GATEWAY_ANNOTATION = "zonal-ingress.io/gateway"
SCALE = 0.1
USABLE = "198.51.100.7"
"""An address that Gateways may ask for."""

_PORTS = 512
_POLL_SECONDS = 0.02
_NOWHERE = 1  # nobody listens there


def options(kubeconfig: Path, ports: tuple[int, int], name: str = "zonal-0") -> tuple[str, ...]:
    """What a replica is started with."""
    return (
        "--source=kubernetes",
        f"--kubeconfig={kubeconfig}",
        "--allow-local-endpoints",
        "--shutdown-grace-period=0",
        f"--time-scale={SCALE}",
        f"--pod-name={name}",
        "--pod-namespace=zonal",
        "--publish-service=zonal/zonal",
        f"--gateway-ports={ports[0]}-{ports[1]}",
        f"--gateway-external-ips={USABLE}/32",
        "--gateway-aliases=cluster.test",
    )


def furnish(server: ApiServer) -> None:
    """What every installation has: our own Service, and the definitions of Gateway API."""
    server.custom = SERVED
    server.put(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "zonal", "namespace": "zonal"},
            "spec": {"selector": {"app": "zonal"}, "ports": [{"port": 80}]},
        }
    )
    server.put(DEFINITION)


def services(server: ApiServer) -> dict[str, Document]:
    """The Services of Gateways, by `namespace/name` of the Gateway."""
    listed = ((each["metadata"].get("annotations", {}), each) for each in server.objects("Service"))
    return {said[GATEWAY_ANNOTATION]: each for said, each in listed if GATEWAY_ANNOTATION in said}


def balance(server: ApiServer) -> None:
    """Gives an address to each Service that waits for one."""
    for each in server.objects("Service"):
        if each["spec"].get("type") == "LoadBalancer" and not each["status"].get("loadBalancer", {}).get("ingress"):
            address = f"203.0.113.{server.version % 250 + 1}"
            server.put({**each, "status": {"loadBalancer": {"ingress": [{"ip": address}]}}})


def target(server: ApiServer, number: int, gateway: str = "") -> int:
    """The bound port of a port of a Gateway, or of any."""
    found = [
        port["targetPort"]
        for name, each in services(server).items()
        for port in each["spec"]["ports"]
        if port["port"] == number and gateway in ("", name)
    ]
    return int(found[0]) if found else _NOWHERE


def _is_seen(status: Document) -> bool:
    """Whether a controller has written the status: the server says of new objects that nobody has."""
    said = status.get("conditions")
    return bool(status) and (said is None or any("observedGeneration" in each for each in said))


class ApiGatewayStage(GatewayStage):
    """A running process and the API server that it follows."""

    patience_seconds = 20.0

    async def open(self) -> None:
        await self.endpoints.start()
        self._stack = AsyncExitStack()
        self.server = await self._stack.enter_async_context(ApiServer())
        furnish(self.server)
        self._balances = True
        self._shown: dict[tuple[str, str, str], Document] = {}
        self._files = tempfile.TemporaryDirectory()
        place = Path(self._files.name)
        kubeconfig = self.server.write_kubeconfig(place / "kubeconfig")
        self.zonal = Zonal(place, *options(kubeconfig, free_range(_PORTS)))
        try:
            await self.zonal.is_serving()
            await self.zonal.is_ready()
        except BaseException:
            self.zonal.kill()
            await self._stack.aclose()
            raise

    async def close(self) -> None:
        try:
            await self.zonal.stop()
        finally:
            self.zonal.kill()
            await self._stack.aclose()
            await self.endpoints.stop()
            self._files.cleanup()

    def begin(self, case: Case) -> None:
        """Nothing of an earlier case is left, neither its statuses nor the addresses of its Services."""
        self._balances = "pending-load-balancer" not in case.needs
        of_gateways = [_key(each) for each in services(self.server).values()]
        for key in (*self._shown, *of_gateways):
            with suppress(KeyError):
                self.server.delete(*key)
        self._shown = {}

    def port(self, number: int, gateway: str = "") -> int:
        return target(self.server, number, gateway)

    def show(self, cluster: Cluster) -> None:
        wanted = {_key(each): each for each in cluster.documents()}
        for key, document in wanted.items():
            if self._shown.get(key) == document:
                continue
            known = self.server.get(*key) or {"metadata": {}}
            kept = {name: known["metadata"][name] for name in ("finalizers",) if name in known["metadata"]}
            whole = {**document, "metadata": {**kept, **document["metadata"]}}
            self.server.put({**whole, "status": known["status"]} if "status" in known else whole)
        for key in self._shown.keys() - wanted.keys():
            with suppress(KeyError):
                self.server.delete(*key)
        self._shown = wanted

    def patch_status(self, change: Json) -> None:
        """Another controller adds conditions, or entries of its own."""
        kind, _, place = change["patchStatus"].partition(" ")
        namespace, _, name = place.partition("/")
        known = self.server.get(kind, namespace, name)
        assert known is not None
        status = known.get("status", {})
        added = {name: [*status.get(name, []), *said] for name, said in change.items() if name != "patchStatus"}
        self.server.put({**known, "status": {**status, **added}})

    async def judged(self, judge: Callable[[list[Json]], list[str]]) -> list[str]:
        deadline = time.monotonic() + self.patience_seconds
        while True:
            if self._balances:
                balance(self.server)
            problems = judge(self._statuses())
            if not problems or time.monotonic() >= deadline:
                return problems
            await asyncio.sleep(_POLL_SECONDS)

    def further_problems(self, step: Step) -> list[str]:
        return [text for expected in step.status for text in self._further(expected)]

    def _statuses(self) -> list[Json]:
        return [
            {
                "kind": kind,
                "namespace": each["metadata"].get("namespace", ""),
                "name": each["metadata"]["name"],
                "status": self._restated(kind, each),
            }
            for kind in KINDS
            for each in self.server.objects(kind)
            if _is_seen(each.get("status") or {})
        ]

    def _restated(self, kind: str, document: Document) -> Json:
        """The status, in the generations of the case: the server also counts the changes of earlier cases."""
        metadata = document["metadata"]
        shown = self._shown.get((kind, metadata.get("namespace", ""), metadata["name"]))
        ours = shown["metadata"].get("generation", 0) if shown is not None else 0
        told = {metadata["generation"]: ours}

        def restate(value: Any) -> Any:
            if isinstance(value, list):
                return [restate(each) for each in value]
            if not isinstance(value, dict):
                return value
            return {
                name: told.get(each, -1) if name == "observedGeneration" else restate(each)
                for name, each in value.items()
            }

        restated: Json = restate(document["status"])
        return restated

    def _further(self, expected: Json) -> Iterator[str]:
        kind, _, place = expected["of"].partition(" ")
        if kind == "Service":
            yield from self._service_problems(expected)
            return
        status = (self._get(kind, place) or {}).get("status", {})
        found = [each["value"] for each in status.get("addresses", ())]
        least, most = _bounds(expected.get("addresses", [0, 99]))
        if not least <= len(found) <= most:
            yield f"{place}: addresses {found}"
        if other := expected.get("addresses_differ_from"):
            others = (self._get(kind, other) or {}).get("status", {}).get("addresses", ())
            if set(found) & {each["value"] for each in others}:
                yield f"{place} and {other} share {found}"
        types = {each["type"] for each in status.get("conditions", ())}
        types |= {each["controllerName"] for name in ("parents", "ancestors") for each in status.get(name, ())}
        yield from (f"{place}: {each} is gone" for each in expected.get("foreign", ()) if each not in types)

    def _service_problems(self, expected: Json) -> Iterator[str]:
        label, _, value = expected["of"].rpartition(" ")[2].partition("=")
        own = [each["metadata"] for each in services(self.server).values()]
        aliases = [
            each["metadata"] for each in self.server.objects("Service") if each["spec"].get("type") == "ExternalName"
        ]
        found = [each for each in (*own, *aliases) if each.get("labels", {}).get(label) == value]
        if len(found) < 2:
            yield f"no {expected['of']}, or no alias"
        for field in ("labels", "annotations"):
            for each in found:
                if not expected.get(field, {}).items() <= each[field].items():
                    yield f"{field} {each[field]}"

    def _get(self, kind: str, place: str) -> Document | None:
        namespace, _, name = place.rpartition("/")
        return self.server.get(kind, namespace, name)


@asynccontextmanager
async def staged_api(
    ports: Sequence[int], authorities: Authorities, zone: str | None = None
) -> AsyncIterator[GatewayStage]:
    """A process that serves what an API server has, stopped at the end."""
    stage = ApiGatewayStage(ports, authorities, zone)
    await stage.open()
    try:
        yield stage
    finally:
        await stage.close()


def free_range(count: int) -> tuple[int, int]:
    """The first and the last of so many ports in a row that were free a moment ago."""
    while True:
        first = random.choice(own_ports()[:-count])
        try:
            for number in range(first, first + count):
                socket.create_server(("127.0.0.1", number)).close()
        except OSError:
            continue
        return first, first + count - 1


def _key(document: Document) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]


def _bounds(wanted: int | list[int]) -> tuple[int, int]:
    return (wanted, wanted) if isinstance(wanted, int) else (wanted[0], wanted[1])

"""A running process before the endpoints of a test, and what every fault must leave as it was.

At the end of a stage no POST has arrived twice, no body was wrong, descriptors are back, and standard error has no
traceback.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from tests.features.faults.load import HOST, Ledger, Load
from tests.integration.manifests import (
    Document,
    ManifestFolder,
    config_map,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.running import Zonal, running, until

_SETTLE_SECONDS = 30.0
_SETTINGS = {"ssl_redirect": "false", "upstream_keepalive_timeout": "1", "proxy_body_size": "0"}


class Addressed(Protocol):
    """Where an endpoint listens."""

    @property
    def address(self) -> str: ...
    @property
    def port(self) -> int: ...


class Place(NamedTuple):
    """An address and a port, for endpoints that are not there."""

    address: str
    port: int


Services = Mapping[str, Sequence[Addressed]]

Record = Callable[[str, object], None]
"""pytest's `record_property`: a figure by its name, for `--junit-xml`."""


class Stage:
    """The process, the folder it follows and the ledger of its endpoints.

    `opens` descriptors may stay open beside those of the start.
    """

    def __init__(self, zonal: Zonal, folder: ManifestFolder, ledger: Ledger) -> None:
        self.zonal = zonal
        self.folder = folder
        self.ledger = ledger
        self.opens = 0

    @property
    def port(self) -> int:
        return self.zonal.http_port

    def load(self, *, prefix: str = "", keeps: bool = True) -> Load:
        return Load(self.port, prefix=prefix, keeps=keeps)

    async def change(self, services: Services) -> None:
        """Give the Services other endpoints; returns once the process serves them."""
        generation = await self.zonal.generation()
        write_services(self.folder, services)
        await self.zonal.reaches_generation(generation + 1, seconds=5.0)

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.zonal.pid}/fd"))

    def resident_bytes(self) -> int:
        return self._status_kibibytes("VmRSS") * 1024

    def forget_peak(self) -> None:
        """Measure `peak_bytes` from now on (proc(5): clear_refs)."""
        Path(f"/proc/{self.zonal.pid}/clear_refs").write_text("5")

    def peak_bytes(self) -> int:
        return self._status_kibibytes("VmHWM") * 1024

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.zonal.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def failed_lines(self) -> list[str]:
        """The lines of the access log about requests with a status of 5xx; they name the attempts."""
        return [line for line in self.zonal.access_lines if json.loads(line)["status"] >= 500]

    async def connections(self, state: str) -> int:
        """The metric of connections in one state."""
        samples = (await self.zonal.metrics())["zonal_connections"].samples
        return int(sum(sample.value for sample in samples if sample.labels["state"] == state))

    async def counter(self, name: str) -> float:
        """The sum of a counter over all its labels; `name` without `_total`."""
        return sum(sample.value for sample in (await self.zonal.metrics())[name].samples)

    def _status_kibibytes(self, name: str) -> int:
        found = re.search(rf"^{name}:\s+(\d+) kB$", Path(f"/proc/{self.zonal.pid}/status").read_text(), re.MULTILINE)
        assert found
        return int(found[1])


@asynccontextmanager
async def staged(
    place: Path,
    services: Services,
    *,
    ledger: Ledger,
    options: Sequence[str] = (),
    protocol: str = "",
    **settings: str,
) -> AsyncIterator[Stage]:
    """A process that serves the Service `app` at `/`, and each other one at a path of its name.

    `protocol` is what endpoints are spoken to in (the annotation `backend-protocol`). A test may end the process
    itself; then its descriptors are not looked at.
    """
    folder = manifests(place, services, protocol=protocol, **settings)
    async with running(folder.place, *options, anew=True) as zonal:
        stage = Stage(zonal, folder, ledger)
        await zonal.admin("/metrics")
        baseline = stage.descriptors()
        yield stage
        if zonal.exit_status is None:
            await until(lambda: stage.descriptors() <= baseline + stage.opens, seconds=_SETTLE_SECONDS)
    assert ledger.doubled_posts == []
    assert ledger.wrong_bodies == []


def manifests(place: Path, services: Services, *, protocol: str = "", **settings: str) -> ManifestFolder:
    """The folder of a stage, with these keys in its ConfigMap. `protocol` is as for `staged`."""
    folder = ManifestFolder(place / "manifests")
    folder.write("class.yaml", ingress_class())
    folder.write("settings.yaml", config_map(**{**_SETTINGS, **settings}))
    annotations = {"nginx.ingress.kubernetes.io/backend-protocol": protocol} if protocol else {}
    rules = rule(HOST, *(path(_path_of(name), name) for name in services))
    folder.write("web.yaml", ingress("web", rules, annotations=annotations))
    write_services(folder, services)
    return folder


def write_services(folder: ManifestFolder, services: Services) -> None:
    """All Services and their endpoints in one file, so that they change together."""
    slices = [slice_of(name, each) for name, endpoints in services.items() for each in endpoints]
    folder.write("services.json", *(service(name) for name in services), *slices)


def slice_of(name: str, endpoint: Addressed) -> Document:
    """A slice of one endpoint, in `zone-a` unless it says another zone."""
    zone = getattr(endpoint, "zone", "zone-a")
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{name}-{endpoint.address}-{endpoint.port}",
            "namespace": "shop",
            "labels": {"kubernetes.io/service-name": name},
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": endpoint.port}],
        "endpoints": [
            {
                "addresses": [endpoint.address],
                "conditions": {"ready": True},
                "zone": zone,
            }
        ],
    }


def _path_of(name: str) -> str:
    return "/" if name == "app" else f"/{name}"

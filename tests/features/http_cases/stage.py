"""The fixture of the cases: two tenants, a protected path, recording endpoints, and the real process before them.

Responsible for what runs and for measuring it from outside (/proc). It must not know any case.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trustme

from tests.fakes.backends import EchoEndpoint
from tests.features.http_cases.backends import Backend
from tests.features.http_cases.cases import Step, Way
from tests.integration.manifests import (
    ManifestFolder,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
    tls_secret,
)
from tests.integration.running import Zonal, running

SERVICES = {"svc-a": "tenant-a", "svc-admin": "tenant-a", "svc-b": "tenant-b"}
HASTY = {
    key: "1"
    for key in (
        "client_header_timeout",
        "client_body_timeout",
        "keep_alive",
        "proxy_read_timeout",
        "proxy_send_timeout",
        "proxy_connect_timeout",
    )
}
"""Deadlines of a second, for the cases that wait for one."""
_SETTLE_SECONDS = 30.0  # longer than the proxy lingers on a connection it has refused
_REST_SECONDS = 0.1
_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


class Stage:
    """A process, its endpoints and its manifests."""

    def __init__(
        self, zonal: Zonal, folder: ManifestFolder, backends: dict[str, Backend], authority: trustme.CA
    ) -> None:
        self.zonal = zonal
        self.folder = folder
        self.backends = backends
        self.authority = authority
        self.scripts: dict[bytes, tuple[tuple[Step, ...], Way, str]] = next(iter(backends.values())).scripts

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.zonal.pid}/fd"))

    def resident_bytes(self) -> int:
        return self._status_bytes("VmRSS")

    def peak_bytes(self) -> int:
        """The highest resident size since `forget_peak`."""
        return self._status_bytes("VmHWM")

    def forget_peak(self) -> None:
        Path(f"/proc/{self.zonal.pid}/clear_refs").write_text("5")

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.zonal.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK_SECONDS

    async def settled_descriptors(self, expected: int | None = None) -> int:
        """Close what the endpoints hold and wait until the process has its `expected` descriptors again, or not.

        Without `expected`: wait until their number rests.
        """
        for backend in self.backends.values():
            backend.close_visits()
        last, rests_since, deadline = -1, 0.0, _now() + _SETTLE_SECONDS
        while _now() < deadline and last != expected:
            last, before = self.descriptors(), last
            rests_since = rests_since if last == before else _now()
            if expected is None and _now() - rests_since > _REST_SECONDS:
                break
            await asyncio.sleep(0.01)
        for backend in self.backends.values():
            backend.visits.clear()
        return last

    def trusting(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.authority.configure_trust(context)
        return context

    def _status_bytes(self, name: str) -> int:
        for line in Path(f"/proc/{self.zonal.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
        raise KeyError(name)


@asynccontextmanager
async def staged(place: Path, **settings: str) -> AsyncIterator[Stage]:
    """A stage below `place`; `settings` go into the ConfigMap, with `_` for `-`."""
    folder, authority = ManifestFolder(place), trustme.CA()
    scripts: dict[bytes, tuple[tuple[Step, ...], Way, str]] = {}
    backends = {name: Backend(name, scripts) for name in SERVICES}
    for backend in backends.values():
        await backend.start()
    write_manifests(folder, backends, authority, settings)
    try:
        async with running(folder.place, "--workers", "0", "--drain-timeout", "2", anew=True) as zonal:
            yield Stage(zonal, folder, backends, authority)
    finally:
        for backend in backends.values():
            backend.stop()


def write_manifests(
    folder: ManifestFolder, backends: dict[str, Backend], authority: trustme.CA, settings: dict[str, str]
) -> None:
    folder.write("class.yaml", ingress_class())
    folder.write("settings.yaml", config_map(ssl_redirect="false", proxy_body_size="16m", **settings))
    for name, namespace in SERVICES.items():
        endpoint = EchoEndpoint(name)
        endpoint.port = backends[name].port
        folder.write(f"{name}.yaml", service(name, namespace=namespace), endpoint_slice(endpoint, namespace=namespace))
    app = (path("/", "svc-a"), path("/admin", "svc-admin"))
    folder.write(
        "app.yaml",
        ingress(
            "app",
            rule("app.test", *app),
            rule("*.app.test", *app),
            namespace="tenant-a",
            tls=[{"hosts": ["app.test"], "secretName": "app"}, {"hosts": ["*.app.test"], "secretName": "names"}],
        ),
    )
    folder.write(
        "victim.yaml",
        ingress(
            "victim",
            rule("victim.test", path("/", "svc-b")),
            namespace="tenant-b",
            tls=[{"hosts": ["victim.test"], "secretName": "victim"}],
        ),
    )
    for name, host, namespace in (
        ("app", "app.test", "tenant-a"),
        ("names", "*.app.test", "tenant-a"),
        ("victim", "victim.test", "tenant-b"),
    ):
        write_secret(folder, name, namespace=namespace, authority=authority, host=host)


def write_secret(folder: ManifestFolder, name: str, *, namespace: str, authority: trustme.CA, host: str) -> None:
    issued = authority.issue_cert(host)
    chain = b"".join(blob.bytes() for blob in issued.cert_chain_pems)
    folder.write(
        f"secret-{name}.yaml",
        tls_secret(name, chain=chain, key=issued.private_key_pem.bytes(), namespace=namespace),
    )


def _now() -> float:
    return asyncio.get_running_loop().time()

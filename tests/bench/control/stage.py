"""The API server with the large cluster, the endpoints, and one proxy that follows the one and serves the other.

Responsible for starting, for what of it runs on which core, and for ending it all. It must not know what is measured.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import trustme

from tests.bench.control.cluster import Shape, documents, host_of, namespace_of, secret_of
from tests.bench.control.load import Latencies
from tests.bench.control.processes import on_cores
from tests.fakes.apiserver import ApiServer
from tests.integration.manifests import Document, tls_secret
from tests.integration.running import Zonal
from tests.integration.starting import COMMAND

CORE = 0
"""Where the proxy runs; this process and all others are on `OTHER_CORE`."""

OTHER_CORE = 1
_OPENING_BATCH = 200
_PIPE = asyncio.subprocess.PIPE
HISTORY = 20_000
"""As many changes as ten watches that are seconds behind may need."""


class Site:
    """The cluster and its endpoints. Endpoints on `ports[0]` answer with `a`, those on `ports[1]` with `b`."""

    def __init__(self, server: ApiServer, shape: Shape, *, ports: tuple[int, int]) -> None:
        self.server = server
        self.shape = shape
        self.ports = ports
        self._authority = trustme.CA()

    async def fill(self) -> None:
        """Store every object."""
        for number, document in enumerate(documents(self.shape, port=self.ports[0])):
            self.server.put(document)
            if number % _OPENING_BATCH == 0:
                await asyncio.sleep(0)
        for number in range(self.shape.certificates):
            self.server.put(self.secret(number))

    def secret(self, number: int) -> Document:
        """A new certificate for a host."""
        issued = self._authority.issue_cert(host_of(number), key_type=trustme.KeyType.ECDSA)
        chain = b"".join(blob.bytes() for blob in issued.cert_chain_pems)
        key = issued.private_key_pem.bytes()
        return tls_secret(secret_of(number), chain=chain, key=key, namespace=namespace_of(self.shape, number))


@asynccontextmanager
async def endpoints() -> AsyncIterator[tuple[int, int]]:
    """The ports of endpoints that answer at every address, the first ones with `a` and the others with `b`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bench.control.endpoint",
        stdin=_PIPE,
        stdout=_PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        first, second = map(int, (await process.stdout.readline()).split())
        yield first, second
    finally:
        process.stdin.close()
        await process.wait()


@asynccontextmanager
async def site(shape: Shape) -> AsyncIterator[Site]:
    """The filled cluster, listening."""
    async with endpoints() as ports, ApiServer(history=HISTORY) as server:
        made = Site(server, shape, ports=ports)
        await made.fill()
        gc.freeze()  # looking through a whole cluster would stop updates for a second at a time
        yield made


class Running(msgspec.Struct, frozen=True):
    """A proxy that is ready, and how long that took from the start of its process."""

    zonal: Zonal
    workers: int
    ready_seconds: float


@asynccontextmanager
async def proxy(server: ApiServer, workers: int, *options: str) -> AsyncIterator[Running]:
    """A process that follows the cluster of an API server, from its start to its end."""
    with tempfile.TemporaryDirectory(prefix="zonal-bench-") as folder:
        place = Path(folder)
        arguments = (*_arguments(server.write_kubeconfig(place / "kubeconfig"), workers), *options)
        started = time.monotonic()
        with on_cores({CORE, OTHER_CORE} if workers > 1 else {CORE}):
            zonal = Zonal(place, *arguments, anew=True)
        try:
            await zonal.is_serving()
            await zonal.is_ready()
            yield Running(zonal, workers, time.monotonic() - started)
            await zonal.stop()
        finally:
            zonal.kill()


async def offers(workers: int) -> bool:
    """Whether the proxy can be started with so many workers: one that cannot says so before it misses its folder."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        "run",
        f"--workers={workers}",
        "--source=/nowhere",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    return b"--workers" not in said


def _arguments(kubeconfig: Path, workers: int) -> Sequence[str]:
    return (
        "--source=kubernetes",
        f"--kubeconfig={kubeconfig}",
        "--allow-local-endpoints",
        "--shutdown-grace-period=0",
        "--node-name=node-000",
        "--pod-name=zonal-0",
        "--pod-namespace=zonal",
        "--update-status=false",
        f"--workers={workers}",
    )


async def send(port: int, *, hosts: Sequence[str], rate: float, seconds: float) -> Latencies:
    """Requests at a steady rate from a process of their own."""
    arguments = (f"--port={port}", f"--rate={rate}", f"--seconds={seconds}")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.control.load", *arguments, stdin=_PIPE, stdout=_PIPE
    )
    try:
        said, _ = await process.communicate("\n".join(hosts).encode())
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    return msgspec.json.decode(said, type=Latencies)

"""What stands during a run: certificate, endpoints, and contenders, each started when it is first needed.

Responsible for ports and folders, and for saying why a contender is not there.
"""

from __future__ import annotations

import http.client
import os
import random
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import trustme

from tests.bench.peers import cases, programs
from tests.bench.peers.configs import grpc, nginx, zonal
from tests.bench.peers.configs.setup import Setup
from tests.bench.peers.placing import Cores
from tests.bench.peers.processes import Failed, Process

_ENDPOINTS = 4
"""That a contender takes in turn."""

_START_SECONDS = 60.0
_POLL_SECONDS = 0.02
_PORTS = (20_000, 32_000)
_FILES = {"64k": 64 << 10, "1m": 1 << 20}


class Contender:
    """A running proxy."""

    def __init__(self, process: Process, setup: Setup) -> None:
        self.process, self.setup = process, setup


class Stage:
    """Endpoints in the folder `place`, and every contender that was asked for."""

    def __init__(self, place: Path, cores: Cores) -> None:
        self._place, self._cores = place, cores
        self._running: dict[str, Contender] = {}
        self._setup = _certified(place)
        self._zonal_has_workers: bool | None = None
        self._started = 0
        self.endpoints: list[Process] = []
        self.message = place / "message"
        """The file that holds the body of each call of gRPC."""

    def start_endpoints(self) -> None:
        """The programs behind the proxies; raises `Failed`."""
        self._write_files()
        program = programs.found("nginx")
        if program is None:
            raise Failed(f"nginx answers behind all proxies and is not installed: {programs.missing(['nginx'])}")
        text = nginx.endpoints(
            self._place,
            self._setup.endpoint_ports,
            grpc_ports=self._setup.grpc_ports,
            workers=max(1, len(self._cores.rest) // 2),
            is_root=self._setup.is_root,
        )
        configuration = self._place / "endpoints.conf"
        configuration.write_text(text, encoding="utf-8")
        echo = (sys.executable, "-m", "tests.bench.peers.loads.echo_endpoint", str(self._setup.echo_port))
        for command in ((program, "-c", str(configuration)), echo):
            self.endpoints.append(Process(command, cores=self._cores.rest))
        _wait(lambda: _is_listening(self._setup.endpoint_ports[-1]), self.endpoints)
        _wait(lambda: _is_listening(self._setup.echo_port), self.endpoints)

    def contender(self, name: str) -> Contender:
        """The one of that name, started and answering; raises `Failed` with the reason."""
        if name not in self._running:
            self._running[name] = self.fresh(name)
        return self._running[name]

    def fresh(self, name: str) -> Contender:
        """Another process of that name, which the caller ends."""
        if (program := programs.program_of(name)) and programs.found(program) is None:
            raise Failed(programs.NOT_INSTALLED)
        if not name.startswith(cases.ZONAL):
            return self._start(name, None)
        workers = 2 if name == cases.TWO_WORKERS else 1
        if self._zonal_has_workers is not False:
            try:
                contender = self._start(name, workers)
            except Failed as error:
                if "--workers" not in str(error):
                    raise
                self._zonal_has_workers = False
            else:
                self._zonal_has_workers = True
                return contender
        if workers > 1:
            raise Failed("zonal run has no --workers 2")
        return self._start(name, None)

    def end(self) -> None:
        """End everything."""
        for process in [*(each.process for each in self._running.values()), *self.endpoints]:
            process.end()

    def _write_files(self) -> None:
        """What endpoints answer with and calls are made with."""
        files = self._place / "files"
        (files / grpc.SERVICE_PATH.strip("/")).mkdir(parents=True)
        for name, size in _FILES.items():
            (files / name).write_bytes(os.urandom(size))
        for path, answer in grpc.ANSWERS.items():
            (files / path.lstrip("/")).write_bytes(answer)
        self.message.write_bytes(grpc.FRAME)

    def _start(self, name: str, workers: int | None) -> Contender:
        self._started += 1
        setup = _own(self._setup, self._place / f"{name}-{self._started}", is_zonal=name.startswith(cases.ZONAL))
        setup.place.mkdir()
        launch = programs.launch(name, setup, workers=workers)
        cores = self._cores.two if name == cases.TWO_WORKERS else self._cores.one
        process = Process(launch.command, cores=cores, environment=launch.environment)
        try:
            _wait(lambda: _is_serving(setup.http_port), [process])
        except Failed:
            process.end()
            raise
        return Contender(process, setup)


@contextmanager
def standing(cores: Cores) -> Iterator[Stage]:
    """A stage with its endpoints, everything of which is gone afterwards."""
    with TemporaryDirectory(prefix="zonal-bench-") as place:
        stage = Stage(Path(place), cores)
        try:
            stage.start_endpoints()
            yield stage
        finally:
            stage.end()


def _certified(place: Path) -> Setup:
    """What all contenders share."""
    pair = trustme.CA().issue_cert(zonal.SECURE_HOST)
    chain = b"".join(blob.bytes() for blob in pair.cert_chain_pems)
    key = pair.private_key_pem.bytes()
    files = {"certificate": place / "certificate.pem", "key": place / "key.pem", "both": place / "both.pem"}
    for path, content in zip(files.values(), (chain, key, chain + key), strict=True):
        path.write_bytes(content)
    ports = _free_ports(4 * _ENDPOINTS + 1)
    return Setup(
        place=place,
        http_port=0,
        https_port=0,
        endpoint_ports=tuple(ports[1 : 2 * _ENDPOINTS + 1]),
        grpc_ports=tuple(ports[2 * _ENDPOINTS + 1 :]),
        echo_port=ports[0],
        is_root=os.geteuid() == 0,
        **files,
    )


def _own(shared: Setup, place: Path, *, is_zonal: bool) -> Setup:
    """zonal gets all endpoints, half of which are in its zone; the others get as many as serve there."""
    http_port, https_port = _free_ports(2)
    return Setup(
        place=place,
        http_port=http_port,
        https_port=https_port,
        endpoint_ports=shared.endpoint_ports if is_zonal else shared.endpoint_ports[:_ENDPOINTS],
        grpc_ports=shared.grpc_ports if is_zonal else shared.grpc_ports[:_ENDPOINTS],
        echo_port=shared.echo_port,
        certificate=shared.certificate,
        key=shared.key,
        both=shared.both,
        is_root=shared.is_root,
    )


def _free_ports(count: int) -> list[int]:
    """None of those that the kernel gives to clients: one of thousands could take it before it is used."""
    free: list[int] = []
    while len(free) < count:
        port = random.randrange(*_PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            free.append(port)
    return free if len(set(free)) == count else _free_ports(count)


def _wait(is_so: Callable[[], bool], needed: list[Process]) -> None:
    end = time.monotonic() + _START_SECONDS
    while not is_so():
        for process in needed:
            if process.exit_status is not None:
                process.end()
                raise Failed(process.said[-300:] or f"ended with status {process.exit_status}")
        if time.monotonic() > end:
            raise Failed(f"did not serve within {_START_SECONDS:g} s")
        time.sleep(_POLL_SECONDS)


def _is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _is_serving(port: int) -> bool:
    """Whether it answers as it will."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/", headers={"Host": zonal.host(0)})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()

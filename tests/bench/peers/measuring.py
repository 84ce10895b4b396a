"""One contender in one case for a few seconds: load on it, and what it used meanwhile.

Responsible for calling the load generators; what their figures amount to is in `samples`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from tests.bench.peers import h2load, programs, wrk
from tests.bench.peers.cases import Case, Kind
from tests.bench.peers.configs import zonal
from tests.bench.peers.configs.setup import ECHO_PATH
from tests.bench.peers.placing import Cores
from tests.bench.peers.proc import used_ticks
from tests.bench.peers.processes import Failed, Process, output, seconds
from tests.bench.peers.samples import Load, Measure, figures
from tests.bench.peers.stage import Contender, Stage

# Beyond what a generator was told to take; it also waits for the last answers.
_GRACE_SECONDS = 40.0
_POLL_SECONDS = 0.01
_HANDSHAKE_THREADS = 8


class Measuring:
    """Everything about a run that all cases share. `run_seconds`: of load in one sample; `warm_seconds`: before it."""

    def __init__(
        self, stage: Stage, cores: Cores, *, run_seconds: int, warm_seconds: int, idle_connections: int
    ) -> None:
        self._stage, self._cores, self._warm_seconds = stage, cores, warm_seconds
        self._run_seconds, self._idle_connections = run_seconds, idle_connections
        self._greatest_rates: dict[str, float] = {}

    def warm(self, case: Case, name: str) -> None:
        """What is learnt and opened by the first requests is no part of any sample. Raises `Failed`."""
        if case.kind is Kind.HALF_LOAD:
            load = self._wrk(case, name, seconds=self._run_seconds)
            self._greatest_rates[name] = load.requests / load.seconds
        elif case.kind is not Kind.IDLE and self._warm_seconds:
            self._load(case, name, seconds=self._warm_seconds)

    def measure(self, case: Case, name: str) -> dict[str, float]:
        """One sample, by the names of measures. Raises `Failed`."""
        if case.kind is Kind.IDLE:
            return self._idle(name)
        process = self._stage.contender(name).process
        before = process.ticks()
        load = self._load(case, name, seconds=self._run_seconds)
        used = seconds(used_ticks(before, process.ticks()))
        if not load.requests:
            raise Failed(f"none of {load.failed} requests was answered well")
        return figures(load, cpu_seconds=used, memory_mib=process.memory_mib())

    def _load(self, case: Case, name: str, *, seconds: int) -> Load:
        match case.kind:
            case Kind.HANDSHAKES:
                port = self._stage.contender(name).setup.https_port
                return self._run("handshakes", port, zonal.SECURE_HOST, seconds, _HANDSHAKE_THREADS)
            case Kind.ECHO:
                port = self._stage.contender(name).setup.http_port
                return self._run("echo", port, zonal.host(0), ECHO_PATH, seconds, case.connections)
            case Kind.HALF_LOAD:
                port = self._stage.contender(name).setup.http_port
                rate = self._greatest_rates[name] / 2
                return self._run("open_loop", port, zonal.host(0), rate, seconds, case.connections)
            case Kind.HTTP2 | Kind.GRPC:
                return self._h2load(case, name, seconds=seconds)
            case _:
                return self._wrk(case, name, seconds=seconds)

    def _wrk(self, case: Case, name: str, *, seconds: int) -> Load:
        program = programs.found("wrk")
        if program is None:
            raise Failed(f"wrk is not installed: {programs.missing(['wrk'])}")
        setup = self._stage.contender(name).setup
        secure, plain = f"https://{zonal.SECURE_HOST}:{setup.https_port}", f"http://127.0.0.1:{setup.http_port}"
        host = () if case.is_secure else (f"Host: {case.host or zonal.host(0)}",)
        call = wrk.Call(
            url=(secure if case.is_secure else plain) + case.path,
            seconds=seconds,
            connections=case.connections,
            threads=len(self._cores.rest),
            fields=(*host, *case.fields),
            script=self._script(case, name),
        )
        return wrk.read(self._output(wrk.command(program, call), seconds))

    def _h2load(self, case: Case, name: str, *, seconds: int) -> Load:
        program = programs.found("h2load")
        if program is None:
            raise Failed(f"h2load is not installed: {programs.missing(['h2load'])}")
        call = h2load.Http2Call(
            url=f"https://{zonal.SECURE_HOST}:{self._stage.contender(name).setup.https_port}{case.path}",
            seconds=seconds,
            connections=case.connections,
            streams=case.streams,
            threads=len(self._cores.rest),
            fields=case.fields,
            body=self._stage.message if case.kind is Kind.GRPC else None,
        )
        try:
            return h2load.read(self._output(h2load.command(program, call), seconds))
        except h2load.NotHttp2 as error:
            raise Failed(str(error)) from error

    def _script(self, case: Case, name: str) -> Path | None:
        if case.body_bytes:
            text = wrk.upload_script(case.body_bytes)
        elif case.is_numbered:
            text = wrk.numbered_script()
        elif name in case.hosts:
            text = wrk.hosts_script([zonal.host(number) for number in range(case.hosts[name])], case.path)
        else:
            return None
        path = self._stage.contender(name).setup.place / f"{case.name}.lua"
        path.write_text(text, encoding="utf-8")
        return path

    def _run(self, generator: str, port: int, *arguments: object) -> Load:
        command = _command(generator, port, *arguments)
        return msgspec.json.decode(self._output(command, self._run_seconds), type=Load)

    def _output(self, command: list[str], run_seconds: int) -> str:
        return output(command, cores=self._cores.rest, timeout_seconds=run_seconds + _GRACE_SECONDS)

    def _idle(self, name: str) -> dict[str, float]:
        """A process of its own: one that has served more keeps memory that idle connections would be given."""
        contender = self._stage.fresh(name)
        try:
            return self._grown(contender)
        finally:
            contender.process.end()

    def _grown(self, contender: Contender) -> dict[str, float]:
        port = contender.setup.http_port
        self._open(port, connections=min(100, self._idle_connections)).end()  # what is there once is there
        before = contender.process.memory_mib()
        idling = self._open(port, connections=self._idle_connections)
        after = contender.process.memory_mib()
        idling.end()
        kib = (after - before) * 1024 / self._idle_connections
        return {Measure.CONNECTION.value: max(kib, 0.0), Measure.MEMORY.value: after}

    def _open(self, port: int, *, connections: int) -> Process:
        """Connections that idle until the process is ended. Raises `Failed`, also if not every one was answered."""
        command = _command("idling", port, zonal.host(0), connections)
        process = Process(command, cores=self._cores.rest)
        end = time.monotonic() + _GRACE_SECONDS
        while not process.said and process.exit_status is None and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
        try:
            load = msgspec.json.decode(process.said, type=Load)
        except msgspec.DecodeError:
            process.end()
            raise Failed(process.said[-300:] or "idle connections were not opened in time") from None
        if load.failed:
            process.end()
            raise Failed(f"{load.failed} of {connections} connections were not served")
        return process


def _command(generator: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", f"tests.bench.peers.loads.{generator}", *map(str, arguments)]

"""Runs the real ingress as a child process: starts it, reads its ports, watches it and stops it.

Leaves no process behind and says clearly why one ended. Does not know what is sent to it.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

_T = TypeVar("_T")

# A cold start on a slow machine takes about two seconds. After this time something is wrong.
_START_SECONDS = 30.0
# SIGINT lets requests in flight end, and the demo has none by then.
_STOP_SECONDS = 5.0
_DYING_SECONDS = 1.0
_TAIL_LINES = 3
_SERVING = re.compile(r"zonal: serving http=(\d+) https=\d+ admin=(\d+)\n")


class IngressEnded(Exception):
    """The ingress ended, or never began to serve. The text is one line with the end of its standard error."""


class IngressProcess:
    """A running ingress and its ports. Made by `start_ingress`."""

    __slots__ = ("_process", "_reader", "_tail", "admin_port", "http_port")

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._reader = asyncio.create_task(self._read_stderr())
        self.http_port = 0
        self.admin_port = 0

    async def wait_until_serving(self) -> None:
        """Returns when the first line on stdout has named the ports. Raises `IngressEnded`."""
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(_START_SECONDS):
                line = (await self._process.stdout.readline()).decode("utf-8", "replace")
        except TimeoutError:
            raise IngressEnded(f"the ingress did not serve within {_START_SECONDS:g} s") from None
        found = _SERVING.fullmatch(line)
        if found is None:
            if line:
                raise IngressEnded(f"the ingress began with {line.strip()!r}")
            raise await self._ended()
        self.http_port = int(found[1])
        self.admin_port = int(found[2])

    async def guard(self, work: Coroutine[Any, Any, _T], *, dying_seconds: float = _DYING_SECONDS) -> _T:
        """Do `work` while the ingress runs. Raises `IngressEnded`, and cancels the work, if the ingress ends first.

        When the work fails, the ingress has `dying_seconds` to end and so to be the cause.
        """
        working = asyncio.create_task(work)
        ended = asyncio.create_task(self._process.wait())
        try:
            await asyncio.wait({working, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done() and working.exception() is not None:
                # A dying ingress drops its connections, which ends the work, before its own end is visible.
                await asyncio.wait({ended}, timeout=dying_seconds)
            if ended.done():
                raise await self._ended()
            return working.result()
        finally:
            working.cancel()
            ended.cancel()
            await asyncio.gather(working, ended, return_exceptions=True)

    async def stop(self) -> None:
        """Asks it to end, and kills it after a while. Returns when it is gone."""
        try:
            if self._process.returncode is None:
                self._process.send_signal(signal.SIGINT)
            async with asyncio.timeout(_STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            pass
        finally:
            if self._process.returncode is None:
                self._process.kill()
                await self._process.wait()
            await self._reader

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._tail.append(line.decode("utf-8", "replace").strip())

    async def _ended(self) -> IngressEnded:
        status = await self._process.wait()
        await self._reader
        return IngressEnded(f"the ingress ended with status {status}: {' | '.join(self._tail) or 'it said nothing'}")


async def start_ingress(command: Sequence[str]) -> IngressProcess:
    """Runs `command` until its first line says that it serves. Raises `IngressEnded` and leaves nothing running."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=_environment(),
        start_new_session=True,  # so that only the demo gets Ctrl-C: the ingress stops after its clients
    )
    ingress = IngressProcess(process)
    try:
        await ingress.wait_until_serving()
    except BaseException:
        await ingress.stop()
        raise
    return ingress


def ingress_command(folder: Path, *, zone: str, http_port: int, gateway_port: int = 0) -> list[str]:
    """The command line of an ingress in `zone` that serves `folder` on loopback. With `http_port` 0 it takes any free
    port. Port 80 of Gateways stands on `gateway_port`; 0: there are none.
    """
    return [
        *(sys.executable, "-m", "ingress", "run"),
        *("--source", str(folder), "--zone", zone, "--workers", "0", "--allow-local-endpoints"),
        *("--bind-address", "127.0.0.1", "--http-port", str(http_port), "--https-port", "0", "--admin-port", "0"),
        *("--access-log", "off", "--log-level", "warning"),
        *(("--gateway-ports", f"80={gateway_port}") if gateway_port else ()),
    ]


def _environment() -> dict[str, str]:
    """Our environment without the variables that set options, so that only the command line sets them."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ZONAL_")}

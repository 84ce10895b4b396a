"""Runs `zonal demo` in its two forms, measured or live, with its end and its exit status.

Decides what appears on stdout and stderr, and ends cleanly however it is stopped. Does not know how the parts work.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from ingress.demo.child import IngressEnded
from ingress.demo.cluster import CALL_PATH, CALLS_SERVICE, HOST, ZONES
from ingress.demo.live import Screen, Tick
from ingress.demo.observing import ObservingFailed, RequestCounts
from ingress.demo.passages import Passages
from ingress.demo.phases import PHASES, Summary, summary_table
from ingress.demo.stage import Stage, open_stage

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PHASE_SECONDS = 6.0  # long enough to read the sentence and see the shares settle
_TICK_SECONDS = 1.0
# About 300 requests a second on all connections together, which is little for one core.
_LIVE_PAUSE_SECONDS = 0.05
# About 30 calls a second.
_CALLS_PAUSE_SECONDS = 0.25
_INTRODUCTION = """\
An ingress in {zone} before twelve endpoints in three zones: six for HTTP, six for gRPC.

  page      {admin}/ui
  top       {top} --admin {admin}
  try       curl -H 'Host: {host}' {url}
  call      printf '\\0\\0\\0\\0\\0' | curl -s --http2-prior-knowledge -H 'Host: {host}' \
-H 'Content-Type: application/grpc' --data-binary @- --output - {url}{call}
  metrics   curl {admin}/metrics
  model     curl {admin}/debug/model
  edit      {folder}
"""


def top_command() -> str:
    """`zonal top` as it can be typed here: with its place if no PATH leads to it, and once if rich is missing."""
    place = Path(sys.executable).with_name("zonal")
    program = "zonal" if shutil.which("zonal") else os.path.relpath(place)
    return f"{program} top" if find_spec("rich") is not None else f"{program} top --once"


class StoppedBySignal(Exception):
    """A signal ended the demo before the work was done."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(number.name)
        self.number = number


def run_demo(
    *,
    requests: int | None,
    as_json: bool,
    zone: str,
    http_port: int,
    stays: bool = False,
    gateway: bool = False,
    phase_seconds: float = _PHASE_SECONDS,
) -> int:
    """Runs the demo with its ingress in `zone`. Returns the exit status. `gateway`: routes of a Gateway serve.

    With `requests`, sends so many in each phase and prints a summary: 0 if none failed, 1 if any failed, 128 plus the
    signal's number if stopped before. Without `requests`, the live view shows each phase for `phase_seconds`. On a
    terminal, and if it `stays`, it serves until a signal. Elsewhere it ends by itself: 0, or 1 if any request failed.
    A summary comes last in any case, and the status after a signal is 0. Invalid input: 2.
    """
    if problem := _problem(requests, as_json, zone, stays):
        return _complain(problem, status=2)
    if requests is None:
        stays = stays or sys.stdout.isatty()
        work = _live(zone, http_port, stays=stays, gateway=gateway, phase_seconds=phase_seconds)
    else:
        work = _measured(zone, http_port, requests, as_json=as_json, gateway=gateway)
    try:
        return asyncio.run(until_signal(work))
    except StoppedBySignal as stop:
        return 0 if requests is None else 128 + stop.number
    except (IngressEnded, ObservingFailed) as error:
        return _complain(str(error), status=1)
    except BrokenPipeError:
        # The reader has gone. At exit Python would flush into the same pipe and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _problem(requests: int | None, as_json: bool, zone: str, stays: bool) -> str | None:
    if zone not in ZONES:
        return f"--zone {zone!r} is not a zone of the demo: use {', '.join(ZONES)}"
    if as_json and requests is None:
        return "--json prints the summary of --requests N: give both"
    if stays and requests is not None:
        return "--stay keeps the live view, and --requests N ends by itself: give one of them"
    return None


def _complain(message: str, *, status: int) -> int:
    print(f"zonal: {' '.join(message.split())}", file=sys.stderr)
    return status


async def until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Does `work`. When a signal comes, cancels it, waits for its clean end and raises `StoppedBySignal`."""
    loop = asyncio.get_running_loop()
    working = asyncio.create_task(work)
    told: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        told.append(number)
        if len(told) == 1:  # a second signal must not interrupt the cleaning up
            working.cancel()

    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, stop, number)
    with suppress(asyncio.CancelledError):
        return await working
    raise StoppedBySignal(told[0])


async def _measured(zone: str, http_port: int, requests: int, *, as_json: bool, gateway: bool) -> int:
    async with open_stage(own_zone=zone, http_port=http_port, gateway=gateway) as stage:
        summary = await stage.ingress.guard(_measure_phases(stage, requests))
    print(msgspec.json.encode(summary).decode() if as_json else summary_table(summary), flush=True)
    return 1 if summary.has_failures else 0


async def _measure_phases(stage: Stage, requests: int) -> Summary:
    results = []
    for phase in PHASES:
        print(f"zonal demo: {phase.name}: {phase.says.format(zone=stage.own_zone)}", file=sys.stderr, flush=True)
        results.append(await stage.measure(phase, requests=requests))
    phases, grpc = zip(*results, strict=True)
    return Summary(stage.own_zone, phases, grpc)


async def _live(zone: str, http_port: int, *, stays: bool, gateway: bool, phase_seconds: float) -> int:
    async with open_stage(own_zone=zone, http_port=http_port, gateway=gateway) as stage:
        return await stage.ingress.guard(_Show(stage, stays=stays, phase_seconds=phase_seconds).run())


class _Show:
    """The live form: light traffic all the time, one phase after the other, and a tick each second.

    It ends with a summary: after the last phase, or when it is cancelled.
    """

    __slots__ = ("_over", "_passages", "_phase_seconds", "_says", "_screen", "_stage", "_stays")

    def __init__(self, stage: Stage, *, stays: bool, phase_seconds: float) -> None:
        self._stage = stage
        self._stays = stays
        self._phase_seconds = phase_seconds
        self._screen = Screen(sys.stdout)
        self._passages = Passages(own_zone=stage.own_zone)
        self._over = asyncio.Event()
        self._says = ""

    async def run(self) -> int:
        """Returns the exit status: 1 if any request failed."""
        self._introduce()
        try:
            async with asyncio.TaskGroup() as group:
                ticking = group.create_task(self._tick())
                flowing = group.create_task(self._flow())
                await self._play()
                await flowing
                ticking.cancel()
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None  # the first one cancelled the others
        except asyncio.CancelledError:
            self._sum_up()
            raise
        self._sum_up()
        return 1 if self._passages.whole.failed else 0

    async def _flow(self) -> None:
        traffic = self._stage.traffic(pause_seconds=_LIVE_PAUSE_SECONDS)
        calls = self._stage.calls(pause_seconds=_CALLS_PAUSE_SECONDS)
        async with traffic.flowing(to=self._passages), calls.flowing(to=self._passages):
            await self._over.wait()

    async def _play(self) -> None:
        for phase in PHASES:
            self._says = f"{phase.name}: {phase.says.format(zone=self._stage.own_zone)}"
            for step in self._stage.steps(phase):
                await step()
            await self._note()
            self._passages.begin(phase.name)
            await asyncio.sleep(self._phase_seconds)
            await self._note()
            self._passages.end()
        if not self._stays:
            self._over.set()
            return
        self._says = "Serving until Ctrl-C: edit the manifests and watch."
        self._passages.begin("afterwards")
        await self._over.wait()

    async def _note(self) -> None:
        """Tells the passages what has been spent until now: between two passages, and with each tick."""
        admin = self._stage.admin
        accounts = await admin.account(), await admin.account(CALLS_SERVICE)
        self._passages.note(accounts, asyncio.get_running_loop().time())

    def _sum_up(self) -> None:
        self._screen.say(self._passages.summary())

    async def _tick(self) -> None:
        loop, admin = asyncio.get_running_loop(), self._stage.admin
        before, calls_before, then = await admin.account(), await admin.account(CALLS_SERVICE), loop.time()
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            account, calls, now = await admin.account(), await admin.account(CALLS_SERVICE), loop.time()
            self._passages.note((account, calls), now)
            self._screen.show(await self._tick_of(account.since(before), calls.since(calls_before), now - then))
            before, calls_before, then = account, calls, now

    async def _tick_of(self, account: RequestCounts, calls: RequestCounts, seconds: float) -> Tick:
        return Tick(
            says=self._says,
            own_zone=self._stage.own_zone,
            seconds=seconds,
            account=account,
            calls=calls,
            failed=self._passages.whole.failed,
            findings=await self._stage.admin.findings(),
            dollars_per_gigabyte=await self._stage.admin.dollars_per_gigabyte(),
        )

    def _introduce(self) -> None:
        stage = self._stage
        self._screen.say(
            _INTRODUCTION.format(
                zone=stage.own_zone,
                host=HOST,
                url=stage.url,
                call=CALL_PATH.removeprefix("/"),
                admin=stage.admin.url,
                top=top_command(),
                folder=stage.folder,
            )
        )

"""`zonal demo`: what it refuses, and how it ends when a signal comes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from ingress.demo.show import StoppedBySignal, run_demo, top_command, until_signal


@pytest.mark.parametrize(
    ("zone", "as_json", "line"),
    [
        ("mars", False, "zonal: --zone 'mars' is not a zone of the demo: use zone-a, zone-b, zone-c\n"),
        ("zone-a", True, "zonal: --json prints the summary of --requests N: give both\n"),
    ],
)
def test_what_cannot_work_is_one_line_and_status_2(
    zone: str, as_json: bool, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run_demo(requests=None, as_json=as_json, zone=zone, http_port=0)

    output = capsys.readouterr()
    assert (status, output.out, output.err) == (2, "", line)


def test_a_measured_run_cannot_stay(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_demo(requests=1, as_json=False, zone="zone-a", http_port=0, stays=True) == 2
    told = "zonal: --stay keeps the live view, and --requests N ends by itself: give one of them\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_work_and_waits_for_its_clean_end(number: signal.Signals) -> None:
    cleaned = []

    async def work() -> int:
        try:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()
        finally:
            os.kill(os.getpid(), number)  # an impatient second one
            await asyncio.sleep(0.01)  # the second signal comes in a turn of its own
            cleaned.append(True)
        return 0

    with pytest.raises(StoppedBySignal) as stop:
        asyncio.run(until_signal(work()))

    assert stop.value.number == number
    assert cleaned == [True]


def test_work_that_ends_on_its_own_has_its_status() -> None:
    async def work() -> int:
        return 7

    assert asyncio.run(until_signal(work())) == 7


def test_the_command_that_the_banner_names_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program = top_command().split()[0]
    assert Path(program).resolve() == Path(sys.executable).with_name("zonal").resolve()
    (tmp_path / "zonal").write_text("")
    (tmp_path / "zonal").chmod(0o755)
    assert top_command().split()[0] == "zonal"

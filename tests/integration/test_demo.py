"""`zonal demo` as a user runs it: its promises, its output and its end."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REQUESTS = 300
ZONES = ("zone-a", "zone-b", "zone-c")
COMMAND = (sys.executable, "-m", "ingress", "demo")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demo makes its temporary folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def demo(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def started(scratch: Path) -> Iterator[subprocess.Popen[str]]:
    """A live demo that has printed its introduction."""
    with subprocess.Popen(
        [*COMMAND, "--stay", "--http-port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def introduction(process: subprocess.Popen[str]) -> dict[str, str]:
    """What the live demo says to try, by the word in front of it."""
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(10)]
    return dict(line.split(maxsplit=1) for line in lines[2:9])


@pytest.fixture(scope="module")
def run() -> subprocess.CompletedProcess[str]:
    return demo("--requests", str(REQUESTS), "--json", "--http-port", "0")


@pytest.fixture(scope="module")
def phases(run: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    return {phase["name"]: phase for phase in json.loads(run.stdout)["phases"]}


def test_it_succeeds_with_one_json_document_on_stdout(run: subprocess.CompletedProcess[str]) -> None:
    assert run.returncode == 0, run.stderr
    summary = json.loads(run.stdout)

    assert summary["own_zone"] == "zone-a"
    assert [phase["name"] for phase in summary["phases"]] == ["flag-off", "flag-on", "zone-down", "zone-back"]
    assert "Traceback" not in run.stderr


def test_no_request_fails_in_a_phase_or_during_a_change(phases: dict[str, dict[str, Any]]) -> None:
    for phase in phases.values():
        assert (phase["requests"], phase["failed"], phase["change"]["failed"]) == (REQUESTS, 0, 0)
        assert sum(phase["by_to_zone"].values()) == sum(phase["reasons"].values()) == REQUESTS
        assert phase["change"]["requests"] > 0


def test_with_the_flag_off_requests_spread_by_endpoint_count(phases: dict[str, dict[str, Any]]) -> None:
    phase = phases["flag-off"]

    for zone in ZONES:
        assert phase["by_to_zone"][zone] == pytest.approx(REQUESTS / len(ZONES), rel=0.03)
    assert phase["local_share"] == pytest.approx(1 / len(ZONES), rel=0.03)
    assert phase["reasons"] == {"off": REQUESTS}


@pytest.mark.parametrize("name", ["flag-on", "zone-back"])
def test_with_the_flag_on_every_request_stays_local(name: str, phases: dict[str, dict[str, Any]]) -> None:
    phase = phases[name]

    assert (phase["by_to_zone"], phase["local_share"]) == ({"zone-a": REQUESTS}, 1)
    assert phase["reasons"] == {"zone_local": REQUESTS}


def test_without_the_own_zone_the_others_serve(phases: dict[str, dict[str, Any]]) -> None:
    phase = phases["zone-down"]

    assert (set(phase["by_to_zone"]), phase["local_share"]) == ({"zone-b", "zone-c"}, 0)
    assert phase["reasons"] == {"zone_empty": REQUESTS}


def test_each_phase_has_the_dollars_of_its_bytes(phases: dict[str, dict[str, Any]]) -> None:
    assert phases["flag-off"]["dollars"] == pytest.approx(phases["flag-off"]["blind_dollars"], rel=0.05)
    for name in ("flag-on", "zone-back"):
        assert phases[name]["dollars"] == 0
        assert phases[name]["blind_dollars"] == pytest.approx(phases["flag-off"]["blind_dollars"], rel=0.05)
    assert phases["zone-down"]["dollars"] == pytest.approx(1.5 * phases["flag-off"]["dollars"], rel=0.05)


def test_the_calls_of_one_connection_go_where_the_policy_says(run: subprocess.CompletedProcess[str]) -> None:
    calls = {phase["name"]: phase for phase in json.loads(run.stdout)["grpc"]}

    assert {name: phase["by_to_zone"] for name, phase in calls.items()} == {
        "flag-off": {"zone-a": 20, "zone-b": 20, "zone-c": 20},
        "flag-on": {"zone-a": 60},
        "zone-down": {"zone-b": 30, "zone-c": 30},
        "zone-back": {"zone-a": 60},
    }
    assert {(phase["failed"], phase["change"]["failed"]) for phase in calls.values()} == {(0, 0)}


def test_without_json_the_summary_is_a_table_and_another_zone_and_a_taken_port_are_fine(scratch: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        run = demo("--requests", "30", "--zone", "zone-c", "--http-port", port)

    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[0] == "Own zone: zone-c"
    assert [line.split()[:4] for line in lines[3:11]] == [
        ["flag-off", "30", "0", "33%"],
        ["gRPC", "60", "0", "33%"],
        ["flag-on", "30", "0", "100%"],
        ["gRPC", "60", "0", "100%"],
        ["zone-down", "30", "0", "0%"],
        ["gRPC", "60", "0", "0%"],
        ["zone-back", "30", "0", "100%"],
        ["gRPC", "60", "0", "100%"],
    ]
    assert run.stderr.startswith(f"zonal: port {port} cannot be used (")
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_live_demo_serves_until_a_signal_and_leaves_nothing(
    number: signal.Signals, started: subprocess.Popen[str], scratch: Path
) -> None:
    told = introduction(started)
    port = int(told["try"].rsplit(":", 1)[1].strip(" /\n"))
    assert Path(told["edit"].strip()).parent == scratch
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: demo.example\r\nConnection: close\r\n\r\n")
        assert client.makefile("rb").readline().startswith(b"HTTP/1.1 200")

    started.send_signal(number)
    output, errors = started.communicate(timeout=20)

    assert (started.returncode, errors) == (0, "")
    assert re.search(
        r"^Own zone: zone-a\n\nphase .*^in all +\d+ +0 .*\n\nDollars are .*\n\Z", output, re.MULTILINE | re.DOTALL
    )
    assert not list(scratch.iterdir())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def live(*, stays: bool) -> subprocess.Popen[str]:
    """The live demo with short phases, whose output is no terminal."""
    program = (
        "from ingress.demo.show import run_demo; "
        f"raise SystemExit(run_demo(requests=None, as_json=False, zone='zone-a', http_port=0, stays={stays}, "
        "phase_seconds=0.3))"
    )
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_where_the_output_is_no_terminal_the_live_demo_ends_by_itself_with_a_summary(scratch: Path) -> None:
    with live(stays=False) as process:
        output, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (0, "")
    summary = [line.split() for line in output[output.index("Own zone:") :].splitlines()]
    assert summary[0] == ["Own", "zone:", "zone-a"]
    rows = summary[3:7]
    assert [(row[0], row[2]) for row in rows] == [
        ("flag-off", "0"),
        ("flag-on", "0"),
        ("zone-down", "0"),
        ("zone-back", "0"),
    ]
    assert [row[3] for row in rows[1:]] == ["100%", "0%", "100%"]
    assert 20 <= int(summary[3][3].removesuffix("%")) <= 50
    assert (summary[7][:2], summary[7][3]) == (["in", "all"], "0")
    dollars = {row[0]: [float(cell) for cell in row[4:6]] for row in rows}
    assert dollars["flag-off"][0] > 0.0
    assert dollars["flag-on"][1] > 0.0
    assert dollars["flag-on"][0] < dollars["flag-off"][0]
    assert "Ctrl-C" not in output
    assert not list(scratch.iterdir())


def test_the_live_demo_stays_if_it_is_told_to(scratch: Path) -> None:
    with live(stays=True) as process:
        assert process.stdout is not None
        while "Serving until Ctrl-C" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=20)

    assert (process.returncode, errors) == (0, "")
    assert [line.split()[0] for line in output[output.index("phase ") :].splitlines()[:7]] == [
        "phase",
        "flag-off",
        "flag-on",
        "zone-down",
        "zone-back",
        "afterwards",
        "in",
    ]


def test_a_measured_run_that_is_interrupted_says_so_in_its_status(scratch: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "--requests", "1000000", "--json", "--http-port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("zonal demo: flag-off")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)

    assert (process.returncode, output) == (130, "")
    assert not list(scratch.iterdir())


def shown(columns: int, *, draws: int) -> str:
    """What a live demo writes to a terminal of so many columns until it has drawn its table so often."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [*COMMAND, "--http-port", "0"], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        os.close(theirs)
        try:
            text = ""
            while text.count("findings") < draws:
                text += os.read(ours, 65536).decode()
            process.send_signal(signal.SIGINT)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            os.close(ours)
    return text.replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [40, 80])
def test_the_table_replaces_itself_on_a_terminal_of_any_width(scratch: Path, columns: int) -> None:
    _, *draws = re.split(r"\x1b\[(\d+)F\x1b\[J", shown(columns, draws=4))
    heights, tables = [int(height) for height in draws[::2]], [text.split("\n")[:-1] for text in draws[1::2]]
    assert len(tables) >= 3
    for height, lines in zip(heights[1:], tables[:-1], strict=True):
        assert height == len(lines)
        assert all(len(text) <= columns for text in lines)
        assert re.search(r"money +saved \$[0-9.,]+ a +month", " ".join(lines))

"""The ingress as a child: ports from its first line, one clear line when it ends, nothing left behind."""

from __future__ import annotations

import asyncio
import os
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ingress.demo.child import IngressEnded, ingress_command, start_ingress

SERVES = "import time; print('zonal: serving http=1001 https=1002 admin=1003', flush=True); "
WAITS = "time.sleep(60)"
DIES_WHEN_ASKED = "import sys; sys.stderr.write('first\\nlast words\\n'); sys.exit(3)"


def program(text: str) -> list[str]:
    return [sys.executable, "-S", "-c", text]


def is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


async def forever() -> None:
    await asyncio.Event().wait()


async def test_the_ports_come_from_the_first_line() -> None:
    ingress = await start_ingress(program(SERVES + WAITS))
    try:
        assert (ingress.http_port, ingress.admin_port) == (1001, 1003)
    finally:
        await ingress.stop()


async def test_an_ingress_that_ends_before_it_serves_is_one_line_with_its_last_words() -> None:
    with pytest.raises(IngressEnded) as ended:
        await start_ingress(program(DIES_WHEN_ASKED))

    assert str(ended.value) == "the ingress ended with status 3: first | last words"


async def test_a_first_line_of_another_shape_is_refused() -> None:
    with pytest.raises(IngressEnded, match="began with 'hello'"):
        await start_ingress(program("import time; print('hello', flush=True); " + WAITS))


async def test_work_is_done_while_the_ingress_runs() -> None:
    ingress = await start_ingress(program(SERVES + WAITS))
    try:
        assert await ingress.guard(asyncio.sleep(0, result="done")) == "done"
    finally:
        await ingress.stop()


async def test_work_ends_with_the_ingress() -> None:
    ingress = await start_ingress(program(SERVES + DIES_WHEN_ASKED))
    try:
        with pytest.raises(IngressEnded, match="status 3: first"):
            await ingress.guard(forever())
    finally:
        await ingress.stop()


async def test_an_error_of_the_work_itself_comes_through() -> None:
    async def fail() -> None:
        raise ValueError("of its own")

    ingress = await start_ingress(program(SERVES + WAITS))
    try:
        with pytest.raises(ValueError, match="of its own"):
            await ingress.guard(fail(), dying_seconds=0.05)
    finally:
        await ingress.stop()


async def test_work_that_fails_because_the_ingress_dies_is_told_by_its_cause() -> None:
    async def cut_off() -> None:
        raise ConnectionResetError

    ingress = await start_ingress(program(SERVES + "time.sleep(0.1); " + DIES_WHEN_ASKED))
    try:
        with pytest.raises(IngressEnded, match="status 3"):
            await ingress.guard(cut_off())
    finally:
        await ingress.stop()


async def test_a_stopped_ingress_is_gone_and_stopping_again_is_harmless(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    ingress = await start_ingress(
        program(f"import os; open({str(note)!r}, 'w').write(str(os.getpid())); {SERVES + WAITS}")
    )

    await ingress.stop()
    await ingress.stop()

    assert not is_running(int(note.read_text()))


async def test_settings_from_our_environment_do_not_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZONAL_WATCH_NAMESPACE", "elsewhere")
    says_when_clean = "import os, sys; sys.exit(7 if any(name.startswith('ZONAL_') for name in os.environ) else 4)"

    with pytest.raises(IngressEnded, match="status 4"):
        await start_ingress(program(says_when_clean))


def test_port_80_of_a_gateway_stands_on_the_port_that_is_named() -> None:
    command = ingress_command(Path("/some/folder"), zone="zone-b", http_port=0, gateway_port=18080)
    assert dict(pairwise(command))["--gateway-ports"] == "80=18080"


def test_the_command_line_serves_the_folder_on_loopback_ports() -> None:
    command = ingress_command(Path("/some/folder"), zone="zone-b", http_port=8080)

    options = dict(pairwise(command))
    assert command[:4] == [sys.executable, "-m", "ingress", "run"]
    assert (options["--source"], options["--zone"], options["--http-port"]) == ("/some/folder", "zone-b", "8080")
    assert (options["--bind-address"], options["--https-port"], options["--admin-port"]) == ("127.0.0.1", "0", "0")

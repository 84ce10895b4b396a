"""The shop of the examples at work, for pages that tell a newcomer what to type.

The files and the ports are others than on the pages: tests share a machine. A command is repeated until it says what
the page says, because a change of a file takes effect within seconds.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.fakes.stopwatch import Stopwatch
from tests.unit.sources import ROOT

# The words of a command that goes over several lines end with a quotation mark.
_STEP = re.compile(r"^\$ ((?:[^\n]*<<< \'\n(?:.*\n)*?.*\')|[^\n]*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_PATIENCE_SECONDS = 60.0
_SERVING = re.compile(r"zonal: serving http=(\d+) https=(\d+) admin=(\d+)")


def steps_of(page: Path) -> list[tuple[str, str]]:
    """The commands in the consoles of a page, each with what it prints."""
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [step for block in blocks for step in _STEP.findall(block)]


def free_port(held: ExitStack) -> int:
    """A port that nobody has on any loopback address, and nobody gets: the shop's backends may share it."""
    holder = held.enter_context(socket.socket())
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    port: int = holder.getsockname()[1]
    return port


class Shop:
    """The shop of the tutorials at work, and how their commands become those of this machine."""

    def __init__(self, place: Path, ports: dict[str, str]) -> None:
        """`ports` are those of this machine by those of the pages."""
        self._place = place
        self._ports = ports

    def says(self, command: str, before: str) -> str:
        """What the shell prints for a command of a page. `before` defines what other commands use."""
        script = f"{before}\n{command}"
        for theirs, ours in self._ports.items():
            script = script.replace(f"127.0.0.1:{theirs}", f"127.0.0.1:{ours}")
            script = script.replace(f"shop.example:{theirs}:", f"shop.example:{ours}:")
        script = script.replace("https://shop.example:8443/", f"https://shop.example:{self._ports['8443']}/")
        zonal = f"ZONAL_ADMIN=http://127.0.0.1:{self._ports['10254']} PYTHONPATH={ROOT} {sys.executable} -m ingress"
        script = script.replace(".venv/bin/zonal", zonal)
        done = subprocess.run(["bash", "-c", script], cwd=self._place, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def follows(self, steps: Iterable[tuple[str, str]], before: str = "") -> None:
        """Runs the steps of a page. Each says what the page says, within a minute, and sets nothing that is invalid."""
        for command, output in steps:
            watch, said = Stopwatch(), self.says(command, before)
            while output and output not in said:
                assert watch.within(_PATIENCE_SECONDS), f"{command}\n{said}"
                said = self.says(command, before)
            findings = f"http://127.0.0.1:{self._ports['10254']}/debug/findings"
            with urllib.request.urlopen(findings) as answer:
                assert b"InvalidValue" not in answer.read(), command


@contextmanager
def serving_shop(place: Path, *options: str) -> Iterator[Shop]:
    """Backends and zonal in a copy of the examples below `place`. `options` are further ones of `zonal run`."""
    examples = place / "deploy" / "examples"
    folder = examples / "shop"
    for name in ("shop", "shop-gateway"):
        shutil.copytree(ROOT / "deploy" / "examples" / name, examples / name)
    with ExitStack() as stack:
        gateway = str(free_port(stack))
        for name in ("cart.yaml", "storefront.yaml", "prices.yaml"):
            text = (folder / name).read_text()
            port = re.search(r"port: (1\d{4})", text)
            assert port is not None
            (folder / name).write_text(text.replace(port[1], str(free_port(stack))))
        backends = stack.enter_context(_Running([sys.executable, str(folder / "backends.py")]))
        assert "endpoints are up" in _first_line(backends)
        zonal = stack.enter_context(
            _Running(
                [
                    *(sys.executable, "-m", "ingress", "run", "--source", str(folder), "--zone", "zone-b"),
                    *("--workers", "0", "--allow-local-endpoints", "--access-log", "off"),
                    *("--shutdown-grace-period", "0", "--gateway-ports", f"8000={gateway}"),
                    *options,
                    *("--http-port", "0", "--https-port", "0", "--admin-port", "0", "--bind-address", "127.0.0.1"),
                ]
            )
        )
        found = _SERVING.match(_first_line(zonal))
        assert found is not None
        yield Shop(place, {"8080": found[1], "8443": found[2], "10254": found[3], "8000": gateway})


class _Running(subprocess.Popen[str]):
    """A program that ends with its block."""

    def __init__(self, command: list[str]) -> None:
        super().__init__(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT)

    def __exit__(self, *trace: object) -> None:
        self.terminate()
        super().__exit__(None, None, None)


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()

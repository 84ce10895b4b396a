"""The contenders as programs: where they are found, which version, and how each is started.

Knows their command lines; what they are told is in `configs`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.peers import cases
from tests.bench.peers.configs import caddy, envoy, gateway, haproxy, nginx, traefik, zonal
from tests.bench.peers.configs.setup import Setup
from tests.bench.peers.processes import Failed
from tests.integration.manifests import ManifestFolder

ROOT = Path(__file__).parents[3]

# Peers of this bench have an environment of their own; Debian keeps daemons out of a user's path.
_PLACES = (str(ROOT / ".venv-bench" / "bin"), os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin")

_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*")

DEBIAN = {"nginx": "nginx", "haproxy": "haproxy", "wrk": "wrk", "h2load": "nghttp2-client"}
"""Programs that are packages of Debian."""

_FOLDER = "manifests"

NOT_INSTALLED = "not installed"
"""Why a contender is missing, and its version then."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a contender is started."""

    command: tuple[str, ...]
    environment: dict[str, str]


def found(program: str) -> str | None:
    """The path of an installed program."""
    return shutil.which(program, path=os.pathsep.join(_PLACES))


def missing(programs: Iterable[str]) -> str:
    """A line that says how to get the Debian packages among `programs`; empty if there is none."""
    packages = [DEBIAN[program] for program in programs if program in DEBIAN]
    return f"apt-get install {' '.join(packages)}" if packages else ""


def version(program: str) -> str:
    """As the program says it; a question mark if it says none."""
    path = found(program)
    if path is None:
        return NOT_INSTALLED
    arguments = {"nginx": "-v", "haproxy": "-v", "wrk": "-v", "envoy": "--version"}.get(program, "version")
    done = subprocess.run(
        (path, arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20, check=False, text=True
    )
    match = _VERSION.search(re.sub(r"\b[0-9a-f]{40}\b", "", done.stdout))
    return match[0] if match else "?"


def program_of(contender: str) -> str:
    """The program that must be installed for a contender; empty for those of this repository."""
    return contender if contender in cases.PEERS and contender != cases.AIOHTTP else ""


def launch(contender: str, setup: Setup, *, workers: int | None) -> Launch:
    """Write what the contender is told, and say how to start it. `workers` are zonal's; None: none to choose.

    Raises `Failed`.
    """
    if contender.startswith(cases.ZONAL):
        return _zonal(contender, setup, workers)
    return _OTHERS[contender](setup)


def _nginx(setup: Setup) -> Launch:
    return Launch((_program("nginx"), "-c", _written(setup, "nginx.conf", nginx.proxy(setup))), {})


def _haproxy(setup: Setup) -> Launch:
    return Launch((_program("haproxy"), "-db", "-f", _written(setup, "haproxy.cfg", haproxy.proxy(setup))), {})


def _envoy(setup: Setup) -> Launch:
    settings = ("--concurrency", "1", "--disable-hot-restart", "--log-level", "error")
    return Launch((_program("envoy"), *settings, "-c", _written(setup, "envoy.json", envoy.proxy(setup))), {})


def _caddy(setup: Setup) -> Launch:
    text = _written(setup, "caddy.json", caddy.proxy(setup))
    places = {name: str(setup.place) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    return Launch((_program("caddy"), "run", "--config", text), {"GOMAXPROCS": "1", **places})


def _traefik(setup: Setup) -> Launch:
    dynamic = _written(setup, "dynamic.yml", traefik.dynamic(setup))
    static = _written(setup, "traefik.yml", traefik.static(setup, dynamic))
    return Launch((_program("traefik"), f"--configFile={static}"), {"GOMAXPROCS": "1"})


def _aiohttp(setup: Setup) -> Launch:
    return _module("tests.bench.peers.plain_proxy", setup)


def _bare_loop(setup: Setup) -> Launch:
    return _module("tests.bench.peers.bare_loop", setup)


def _module(name: str, setup: Setup) -> Launch:
    ports = (setup.echo_port, *setup.endpoint_ports)
    arguments = (setup.http_port, setup.https_port, setup.certificate, setup.key, *ports)
    return Launch((sys.executable, "-m", name, *map(str, arguments)), {})


def _zonal(contender: str, setup: Setup, workers: int | None) -> Launch:
    folder = ManifestFolder(setup.place / _FOLDER)
    hosts = 5000 if contender == cases.MANY_HOSTS else zonal.HOSTS
    objects = [*zonal.objects(setup, is_zone_aware=contender != cases.OFF, hosts=hosts)]
    ports = ["--http-port", str(setup.http_port)]
    if contender == cases.GATEWAY:
        objects += gateway.objects([zonal.host(number) for number in range(hosts)])
        ports = ["--http-port", "0", "--gateway-ports", f"{gateway.PORT}={setup.http_port}"]
    folder.write("all.json", *objects)
    arguments = [
        *(sys.executable, "-m", "ingress", "run", "--source", str(folder.place), "--bind-address", "127.0.0.1"),
        *(*ports, "--https-port", str(setup.https_port), "--admin-port", "0"),
        *("--zone", zonal.OWN_ZONE, "--allow-local-endpoints", "--shutdown-grace-period", "0"),
        *("--drain-timeout", "1", "--access-log", "off" if contender == cases.SILENT else "json"),
        *("--workers", "0" if workers is None else str(workers)),
    ]
    return Launch(tuple(arguments), _compiled() if contender in {cases.COMPILED, cases.GATEWAY} else {})


def _compiled() -> dict[str, str]:
    """What makes Python take the installed wheel, made first, in place of this tree. Raises `Failed`: no C compiler."""
    command = (sys.executable, "-m", "typed.installed")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(done.stderr.strip())
    return {"PYTHONPATH": done.stdout.strip(), "PYTHONSAFEPATH": "1", "ZONAL_PURE": ""}


_OTHERS: dict[str, Callable[[Setup], Launch]] = {
    cases.NGINX: _nginx,
    cases.HAPROXY: _haproxy,
    cases.ENVOY: _envoy,
    cases.CADDY: _caddy,
    cases.TRAEFIK: _traefik,
    cases.AIOHTTP: _aiohttp,
    cases.BARE_LOOP: _bare_loop,
}


def _written(setup: Setup, name: str, text: str) -> str:
    path = setup.place / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def _program(name: str) -> str:
    path = found(name)
    if path is None:
        raise FileNotFoundError(name)
    return path

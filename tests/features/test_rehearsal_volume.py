"""`zonal rehearse` replays a day of a busy ingress, a million requests, in less than a minute of a processor."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.manifests import Document, ManifestFolder, ingress, path, rule, service
from tests.unit.ingress.migration.rehearsal.logged import line
from tests.unit.sources import ROOT

_LINES = 1_000_000
_HOSTS = 50
_PATHS = ("/", "/api", "/static", "/users")
_REFUSED_EVERY = 100_000  # requests that ingress-nginx refused and zonal would not
_CPU_SECONDS_MOST = 60.0


def dumped() -> Iterator[Document]:
    """A host with several paths for each Service."""
    for number in range(_HOSTS):
        name = f"app-{number}"
        yield service(name)
        yield ingress(name, rule(f"{name}.test", *(path(each, name) for each in _PATHS)), class_name="nginx")


def lines() -> Iterator[str]:
    """The log: a target of its own for each request."""
    for number in range(_LINES):
        target = f"{_PATHS[number % len(_PATHS)].rstrip('/')}/item/{number}?page=2"
        status, address = (403, "-") if number % _REFUSED_EVERY == 0 else (200, "10.0.0.1:80")
        yield line(target, status, f"shop-app-{number % _HOSTS}-80", address) + "\n"


@pytest.mark.slow
def test_a_million_lines_take_less_than_a_minute_of_a_processor(tmp_path: Path) -> None:
    ManifestFolder(tmp_path / "dump").write("all.yaml", *dumped())
    command = (sys.executable, "-m", "ingress", "rehearse", "-", "--source", str(tmp_path / "dump"))
    with (tmp_path / "said").open("w+") as said:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=said, text=True)
        assert process.stdin is not None
        with process.stdin as log:
            log.writelines(lines())
        _, ended, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(ended)
        said.seek(0)
        *_, last = said.read().splitlines()
    refused = _LINES // _REFUSED_EVERY
    assert last == f"{_LINES - refused} of {_LINES} requests would be answered as they were, {refused} would differ."
    assert process.returncode == 1
    assert usage.ru_utime + usage.ru_stime < _CPU_SECONDS_MOST

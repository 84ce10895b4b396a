"""What the machine, the programs and the sources say of themselves."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.bench.peers import programs
from tests.bench.peers.results import Machine


def describe(contenders: Iterable[str]) -> Machine:
    """Now, with the versions of `contenders` and of what makes the load."""
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        kernel=f"{platform.system()} {platform.release()}",
        load=round(os.getloadavg()[0], 2),
        revision=_revision(),
        versions={
            **{name: programs.version(name) for name in contenders if programs.program_of(name)},
            "aiohttp": version("aiohttp"),
            "uvloop": version("uvloop"),
            "Python": platform.python_version(),
            "wrk": programs.version("wrk"),
        },
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _revision() -> str:
    """The commit of the sources, with a plus if they are not as committed; empty without git."""
    try:
        commit = _git("rev-parse", "--short=10", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no", "balancer", "ingress") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments: str) -> str:
    return subprocess.run(
        ("git", *arguments), cwd=programs.ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()

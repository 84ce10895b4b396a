"""The environment in which Python runs a tree of compiled modules."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ASAN = "detect_leaks=0:abort_on_error=1"
"""Python itself leaks at its end, so leaks are not looked for. A report ends the process."""


def environment_of(tree: Path, flavour: str) -> dict[str, str]:
    """The environment of this process, for a tree of that flavour."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    environment.pop("ZONAL_PURE", None)
    if flavour == "asan":
        environment |= _for_asan()
    return environment


def _for_asan() -> dict[str, str]:
    """Its library comes first in every process and gives out every object."""
    command = (os.environ.get("CC", "cc"), "-print-file-name=libasan.so")
    library = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return {"LD_PRELOAD": library, "PYTHONMALLOC": "malloc", "ASAN_OPTIONS": ASAN}

"""The programs by the name that nobody else has."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.large


def test_the_module_is_the_program() -> None:
    done = subprocess.run([sys.executable, "-m", "zonal", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("zonal")

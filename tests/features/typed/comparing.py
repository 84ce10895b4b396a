"""`python -m tests.features.typed.comparing`: the plain source and compiled builds must write the same down.

Run it in a checkout. It makes the typed trees, and runs `exchanges` with the plain source and in each tree.
"""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[3]
_EXCHANGES = ("-m", "tests.features.typed.exchanges")
_DIFFERENT_LINES = 40


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exchanges", type=int, default=1000)
    parser.add_argument("--flavours", nargs="+", default=["release", "checked"])
    options = parser.parse_args()
    found = {each: differences(options.seed, options.exchanges, each) for each in options.flavours}
    for flavour, lines in found.items():
        verdict = "DIFFER" if lines else "equal"
        print(f"{options.exchanges} exchanges with seed {options.seed}, plain and {flavour}: {verdict}")
        print("\n".join(lines[:_DIFFERENT_LINES]))
    return 1 if any(found.values()) else 0


def differences(seed: int, exchanges: int, flavour: str) -> list[str]:
    """The lines in which the plain source and a compiled build of that kind differ."""
    scale = (f"--seed={seed}", f"--exchanges={exchanges}")
    on_typed = (sys.executable, "-m", "typed", "--flavour", flavour, "--run")
    with tempfile.TemporaryDirectory() as folder:
        plain = _written((sys.executable, *_EXCHANGES, *scale), Path(folder, "plain"))
        compiled = _written((*on_typed, *_EXCHANGES, *scale), Path(folder, flavour))
    assert plain.count("CLIENT") > exchanges // 10
    return list(difflib.unified_diff(plain.split("\n"), compiled.split("\n"), "plain", flavour, lineterm=""))


def _written(command: tuple[str, ...], output: Path) -> str:
    subprocess.run((*command, f"--output={output}"), cwd=ROOT, check=True)
    return output.read_bytes().decode("latin-1")


if __name__ == "__main__":
    sys.exit(main())

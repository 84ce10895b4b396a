"""`python -m typed`: makes the typed tree and prints where it is; `--run` runs Python there."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from typed.compiling import FLAVOURS, CannotBuild
from typed.environments import environment_of
from typed.modules import typed_modules
from typed.tree import make_tree

ROOT = Path(__file__).parents[1]
_PROOF = (
    "import importlib, sys; print(*(n for n in sys.argv[1:] if importlib.import_module(n).__file__.endswith('.py')))"
)


def main() -> int:
    options = _arguments().parse_args()
    try:
        tree = make_tree(ROOT, ROOT / "build" / "typed", options.flavour)
    except CannotBuild as error:
        print(f"typed: {error}", file=sys.stderr)
        return 1
    environment = environment_of(tree, options.flavour)
    names = [module.name for module in typed_modules(tree)]
    # A struct that is larger than its layout is only a warning.
    plain = _output([sys.executable, "-W", "error::RuntimeWarning", "-c", _PROOF, *names], tree, environment)
    if plain:
        print(f"typed: not compiled: {plain}", file=sys.stderr)
        return 1
    if not options.run:
        print(tree)
        return 0
    return subprocess.run([sys.executable, *options.run], cwd=tree, env=environment, check=False).returncode


def _output(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    return subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m typed", description=__doc__)
    parser.add_argument("--flavour", choices=FLAVOURS, default="release", help="which flags the C compiler gets")
    parser.add_argument(
        "--run", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="run Python there with these arguments"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tools`: writes every file that is made from the sources, and names those that changed."""

from __future__ import annotations

import sys

from tools.generators import GENERATORS, stale
from tools.places import ROOT


def main() -> int:
    """Writes what is out of date."""
    for generator in GENERATORS.values():
        for path, text in stale(generator).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

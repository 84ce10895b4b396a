"""Starts `zonal` and `kubectl zonal`, if the packages that they are made of are those of this distribution."""

from __future__ import annotations

import sys

from zonal.packages import foreign_package


def main() -> None:
    """Runs `zonal`. Ends with one line and status 1 if another distribution has taken the place of a package."""
    _refuse_foreign()
    from ingress.__main__ import main as run

    run()


def kubectl() -> None:
    """Runs `kubectl zonal`, in the same manner."""
    _refuse_foreign()
    from ingress.__main__ import kubectl as run

    run()


def _refuse_foreign() -> None:
    why = foreign_package()
    if why:
        sys.exit(f"zonal: {why}")


if __name__ == "__main__":
    main()

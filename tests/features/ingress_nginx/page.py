"""Writes the tables of docs/migrate.md: `python -m tests.features.ingress_nginx.page docs/migrate.md`.

The differences between the cases and zonal are known to the tests only, so the command stands beside them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ingress.migration.page import with_migration_tables
from tests.features.ingress_nginx.differences import DIFFERENT


def with_everything(page: str) -> str:
    """`page` with its tables made anew."""
    return with_migration_tables(page, cases=DIFFERENT)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.write_text(with_everything(place.read_text(encoding="utf-8")), encoding="utf-8")

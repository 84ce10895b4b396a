"""Cases in which zonal deliberately behaves otherwise, with the reason that docs/migrate.md gives."""

from __future__ import annotations

from collections.abc import Mapping

DIFFERENT: Mapping[str, str] = {}
"""The reason, by case id."""

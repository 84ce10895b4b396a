"""Lists all generators, and compares what they make with what stands in the repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tools import (
    chart_keys,
    gateway_page,
    gateway_suite_page,
    metrics_page,
    migration_page,
    module_pages,
    reasons_page,
    settings_page,
)
from tools.boards import writing

Generator = Callable[[], Mapping[Path, str]]
"""Returns the place and the whole text of each file that the generator makes."""

GENERATORS: Mapping[str, Generator] = {
    "boards": writing.files,
    "chart keys": chart_keys.files,
    "gateway page": gateway_page.files,
    "gateway suite page": gateway_suite_page.files,
    "metrics page": metrics_page.files,
    "migration page": migration_page.files,
    "module pages": module_pages.files,
    "reasons page": reasons_page.files,
    "settings page": settings_page.files,
}


def stale(generator: Generator) -> dict[Path, str]:
    """The files of a generator that are missing or out of date, with the text that they should have."""
    return {
        path: text
        for path, text in generator().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }

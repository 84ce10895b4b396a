"""Makes the tables of docs/settings.md from the table of options."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ingress.settings.table.option import Option, OptionSource
from ingress.settings.table.whole import OPTIONS
from tools.places import DOCS, text_of

_TABLE = re.compile(
    r"(?<=<!-- made from the table of options: )(\w+)( -->\n).*?(?=<!-- end of the table -->)", re.DOTALL
)


def files() -> dict[Path, str]:
    """The page."""
    page = DOCS / "settings.md"
    return {page: with_tables(text_of(page))}


def with_tables(page: str) -> str:
    """`page` with both tables made anew between their marks, `ConfigMap` and `Annotations`."""
    return _TABLE.sub(lambda found: found[1] + found[2] + _TABLES[found[1]], page)


def _keys() -> str:
    rows = (
        (f"`{option.name}`", _default(option), option.doc)
        for option in OPTIONS
        if OptionSource.CONFIGMAP in option.sources
    )
    return _table(("key", "default", "meaning"), rows)


def _annotations() -> str:
    rows = (
        (
            f"`{option.annotation}`",
            "Ingress, Service" if OptionSource.SERVICE in option.sources else "Ingress",
            _value(option),
        )
        for option in OPTIONS
        if OptionSource.INGRESS in option.sources
    )
    return _table(("annotation", "of", "value"), rows)


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (f"| {' | '.join(row)} |\n" for row in (titles, *rows))
    head = next(lines)
    return head + "|---" * len(titles) + "|\n" + "".join(lines)


def _default(option: Option) -> str:
    """As one would write it: YAML wants words that it knows in quotes."""
    if option.default in {"true", "false"}:
        return f'`"{option.default}"`'
    return f"`{option.default}`" if option.default else "empty"


def _value(option: Option) -> str:
    if OptionSource.CONFIGMAP not in option.sources:
        return option.doc
    most = f", at most {option.most:.0f}" if option.most is not None else ""
    differs = f"; {option.doc_on_ingress}" if option.doc_on_ingress else ""
    return f"as the key `{option.name}`{most}{differs}"


_TABLES = {"ConfigMap": _keys(), "Annotations": _annotations()}

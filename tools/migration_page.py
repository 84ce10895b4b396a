"""Makes the tables of docs/migrate.md from the tables that the translation and the check read.

The cases of ingress-nginx that zonal answers otherwise are known to the tests only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ingress.migration.names import standing_of_annotation, standing_of_key
from ingress.migration.verdicts import NameStanding
from ingress.settings.table.option import NGINX_PREFIX, OWN_PREFIX, Option
from ingress.settings.table.whole import CONFIGMAP_OPTIONS, INGRESS_OPTIONS
from ingress.settings.unsupported import FOREIGN_ANNOTATIONS, SATISFIED_ANNOTATIONS, UNSUPPORTED_ANNOTATIONS
from ingress.settings.unsupported_settings import SATISFIED_SETTINGS, UNSUPPORTED_SETTINGS
from tests.features.ingress_nginx.differences import DIFFERENT
from tools.places import DOCS, text_of

_TABLE = re.compile(r"(?<=<!-- made for migration: )(\w+)( -->\n).*?(?=<!-- end of the table -->)", re.DOTALL)
_OWN_KEYS = re.compile(
    "zone-.*|node-watch|ignore-.*|redirect-to-trailing-slash|fleet.*|keep-client-headers|max-rsa-key-bits"
    "|otlp-collector-protocol|path-parameters|stream-idle-timeout"
    "|http2-(?:cleartext|engine|max-(?:header-fields|idle-frames|resets|unread-size))"
)
"""Keys that zonal has without a prefix, and ingress-nginx v1.15.1 has not."""

_SATISFIED = "zonal does so anyway, or needs no such thing"
_REFUSED = "paths answer 503, because without it "

_ANNOTATIONS: Mapping[str, Option] = {
    option.name: option for option in INGRESS_OPTIONS.values() if option.prefix == NGINX_PREFIX
}
_KEYS: Mapping[str, Option] = {
    key: option
    for key, option in CONFIGMAP_OPTIONS.items()
    if option.prefix != OWN_PREFIX and not _OWN_KEYS.fullmatch(key)
}


def files() -> dict[Path, str]:
    """The page."""
    page = DOCS / "migrate.md"
    return {page: with_migration_tables(text_of(page), cases=DIFFERENT)}


def with_migration_tables(page: str, *, cases: Mapping[str, str]) -> str:
    """`page` with its tables made anew between their marks. `cases` are the reasons of cases that differ, by id."""
    tables = {
        "annotations": _names("annotation", _annotation_names(), _ANNOTATIONS, standing_of_annotation),
        "keys": _names("key", {*_KEYS, *UNSUPPORTED_SETTINGS, *SATISFIED_SETTINGS}, _KEYS, standing_of_key),
        "foreign": ", ".join(f"`{name}`" for name in sorted(FOREIGN_ANNOTATIONS)) + ".\n",
        "cases": _cases(cases),
    }
    return _TABLE.sub(lambda found: found[1] + found[2] + tables[found[1]], page)


def _annotation_names() -> set[str]:
    return {*_ANNOTATIONS, *UNSUPPORTED_ANNOTATIONS, *SATISFIED_ANNOTATIONS}


def _names(
    title: str,
    names: Iterable[str],
    options: Mapping[str, Option],
    standing_of: Callable[[str], tuple[NameStanding, str]],
) -> str:
    lines = [f"| {title} | zonal | how | an invalid value |", "|---|---|---|---|"]
    for name in sorted(names):
        standing, how = standing_of(name)
        invalid = _BY_READERS.get((title, name)) or _invalid(options.get(name))
        lines.append(f"| `{name}` | {standing.value} | {_how(standing, how)} | {invalid} |")
    return "\n".join(lines) + "\n"


# What the readers of these annotations do, beyond their grammars.
_BY_READERS = {
    ("annotation", "custom-http-errors"): "closes",
    ("annotation", "backend-protocol"): "closes; no effect where ingress-nginx does not know it either",
}


def _how(standing: NameStanding, how: str) -> str:
    match standing:
        case NameStanding.SATISFIED:
            return _SATISFIED
        case NameStanding.REFUSED:
            return _REFUSED + how
    return how


def _invalid(option: Option | None) -> str:
    if option is None or option.fills is None:
        return ""
    return "closes" if option.closes else "default"


def _cases(cases: Mapping[str, str]) -> str:
    lines = ["| case | why zonal answers otherwise |", "|---|---|"]
    lines += [f"| `{case}` | {reason} |" for case, reason in sorted(cases.items())]
    return "\n".join(lines) + "\n"

"""Reads the objects of a manifest file, and writes objects into one.

Comments stay where the objects come from YAML. Does not know what the objects mean.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml.error import YAMLError

from ingress.migration.moving import RawObject
from ingress.migration.plain_words import is_plain
from ingress.migration.round_trips import read_documents, read_file, write_documents
from ingress.sources.documents import parse
from ingress.sources.manifests import flattened


class CannotKeep(Exception):
    """A file was read by zonal, and the parser that keeps comments does not read it. The text says which."""


def documents_of(place: Path) -> Iterator[RawObject]:
    """The objects of a file that was read before. Raises `CannotKeep`."""
    if place.suffix == ".json":
        documents = [each for document in parse(place.read_bytes(), is_json=True) for each in flattened(document)]
    else:
        documents = [*_kept(place)]
    for each in documents:
        if isinstance(each, dict) and isinstance(each.get("metadata"), Mapping) and each["metadata"].get("name"):
            yield each


def _kept(place: Path) -> Iterator[object]:
    try:
        yield from read_documents(read_file(place))
    except (YAMLError, UnicodeDecodeError) as error:
        raise CannotKeep(f"{place.name} is no YAML 1.2 in UTF-8: {str(error).splitlines()[0]}") from None


def save(place: Path, documents: list[RawObject], *, is_json: bool) -> None:
    """Writes objects into a new file, as YAML. `is_json`: the objects come from no YAML."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("x", encoding="utf-8") as opened:
        opened.write(text_of(documents, is_json=is_json))


def added_lines(place: Path, documents: list[RawObject], *, is_json: bool) -> Iterator[str]:
    """A new file as lines of a unified diff."""
    lines = text_of(documents, is_json=is_json).splitlines()
    yield from ("--- /dev/null", f"+++ b/{place}", f"@@ -0,0 +1,{len(lines)} @@")
    yield from (f"+{line}" for line in lines)


def text_of(documents: list[RawObject], *, is_json: bool) -> str:
    """Objects as YAML. `is_json`: they come from no YAML."""
    opened = io.StringIO()
    if is_json:
        yaml.dump_all(
            documents,
            opened,
            Dumper=_QuotingDumper,
            sort_keys=False,
            allow_unicode=True,
            width=120,
            explicit_start=True,
        )
    else:
        write_documents(documents, opened)
    return opened.getvalue()


class _QuotingDumper(yaml.SafeDumper):
    """Writes every text that is not plain letters in quotes, because other parsers read `1e3` or `0o7` as numbers."""

    def ignore_aliases(self, data: Any) -> bool:
        """Writes out what several places share."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if is_plain(text) else "|" if "\n" in text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_QuotingDumper.add_representer(str, _text)

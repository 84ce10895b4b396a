"""Finds the lines on which Ingresses and their annotations stand, for code hosts that show results beside lines.

Blocks on the disk. A file that the parser does not read has no lines. Does not know verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ingress.migration.verdicts import Review
from ingress.settings.table.option import NGINX_PREFIX

Lines = Mapping[tuple[str, str, str], int]
"""The line, from 1, by namespace and name of an Ingress and the name of an annotation; empty for the Ingress itself."""


def places_of(review: Review, source: Path) -> Lines:
    """The lines of the checked Ingresses in the files of `source`."""
    from ruamel.yaml.error import YAMLError

    from ingress.migration.round_trips import read_documents, read_file

    lines: dict[tuple[str, str, str], int] = {}
    for file in sorted({each.file for each in review.ingresses if each.file}):
        place = source / file if source.is_dir() else source
        try:
            for document in read_documents(read_file(place)):
                if document.get("kind") == "Ingress":
                    lines.update(_lines_of(document))
        except (OSError, YAMLError, UnicodeDecodeError):
            continue
    return lines


def _lines_of(document: Any) -> Lines:
    from ingress.migration.round_trips import line_of_key

    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or "name" not in metadata:
        return {}
    key = str(metadata.get("namespace") or "default"), str(metadata["name"])
    lines = {(*key, ""): line_of_key(metadata, "name")}
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict):
        for name in annotations:
            lines[*key, str(name).removeprefix(NGINX_PREFIX)] = line_of_key(annotations, name)
    return lines

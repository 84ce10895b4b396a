"""Runs `zonal migrate`: writes manifests for zonal beside those of another controller, and lists decisions for people.

Writes only into a new or empty folder. Does not know flags.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from ingress.findings import printable
from ingress.migration.checking import judged_dump
from ingress.migration.command import CannotCheck
from ingress.migration.dumps import Dump, read_dump
from ingress.migration.moving import Moved, RawObject, moved_config_map, moved_ingress
from ingress.migration.texts import config_map_lines, ingress_lines
from ingress.migration.verdicts import IngressOutcome, IngressReview, Review
from ingress.objects.kinds import Kind
from ingress.settings.context import TranslationContext
from ingress.sources.documents import Unparsable, parse
from ingress.sources.folder import FolderUnreadable
from ingress.sources.manifests import flattened

_LINE_LIMIT = 4000
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9/.-]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
_CONFIG_MAP_FILE = "zonal-configmap.yaml"
_SIDE_BY_SIDE = (
    "Once they are applied, both controllers serve these Ingresses, each by its class. Start zonal with "
    "--update-status=false until the switch, because ExternalDNS reads the status of both. docs/migrate.md has the "
    "steps and the way back."
)


class MigrateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to move, and where to. `context.ingress_class` is the class of the other controller.

    `config_map` is the `namespace/name` that zonal reads. `class_name` is zonal's class, and names end in `suffix`.
    """

    source: Path
    output: Path
    context: TranslationContext = TranslationContext()
    config_map: str = "zonal/zonal"
    class_name: str = "zonal"
    suffix: str = "zonal"


def run_migrate(options: MigrateOptions) -> None:
    """Writes the manifests, and prints what was written and what a person must decide. Raises `CannotCheck`."""
    try:
        dump = read_dump(options.source)
        found = judged_dump(dump, options.context, now_epoch_seconds=time.time())
        if not found.ingresses:
            raise CannotCheck(f"there is no Ingress of class {options.context.ingress_class} to move")
        _prepare(options.output)
        lines = [*_write_ingresses(found, options), *_write_config_map(dump, found, options)]
    except (OSError, FolderUnreadable, Unparsable) as error:
        raise CannotCheck(str(error)) from None
    lines += [*_needing(found), _SIDE_BY_SIDE, found.summary]
    print("\n".join(printable(line, limit=_LINE_LIMIT) for line in lines))


def _prepare(output: Path) -> None:
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise CannotCheck(f"{output} is not empty: name a new folder, because nothing is written over")
    output.mkdir(parents=True, exist_ok=True)


def _write_ingresses(found: Review, options: MigrateOptions) -> Iterator[str]:
    files: dict[str, dict[tuple[str, str], IngressReview]] = {}
    for each in found.ingresses:
        files.setdefault(each.file, {})[each.namespace, each.name] = each
    for file, reviews in sorted(files.items()):
        moved: list[Moved] = []
        for key, document in _ingresses_in(_place(options.source, file)):
            if key in reviews:
                del reviews[key]  # a second one in the same file does not count
                moved.append(moved_ingress(document, class_name=options.class_name, suffix=options.suffix))
        target = Path(file if file.endswith((".yaml", ".yml")) else f"{file}.yaml")
        _save(options.output / target, [each.document for each in moved])
        for new in moved:
            yield f"{target}: Ingress {new.document['metadata']['name']}"
            yield from (f"  {change}" for change in new.changes)


def _write_config_map(dump: Dump, found: Review, options: MigrateOptions) -> Iterator[str]:
    if not found.config_map.exists:
        return
    namespace, _, name = options.config_map.partition("/")
    if (Kind.CONFIG_MAP, namespace, name) in dump.origins:
        yield f"ConfigMap {options.config_map} exists already: add the keys of {found.config_map.name} to it by hand."
        return
    for document in _documents(_place(options.source, found.config_map.file)):
        place = document.get("metadata", {})
        if document.get("kind") == "ConfigMap" and found.config_map.name == f"{place.get('namespace')}/{place['name']}":
            _save(options.output / _CONFIG_MAP_FILE, [moved_config_map(document, namespace=namespace, name=name)])
            yield f"{_CONFIG_MAP_FILE}: ConfigMap {options.config_map}"
            return


def _needing(found: Review) -> Iterator[str]:
    """The Ingresses and the ConfigMap that do not work as they are, and everything else that was found."""
    for each in found.ingresses:
        if each.verdict is not IngressOutcome.WORKS:
            yield from ("", *ingress_lines(each))
    if found.config_map.verdict is not IngressOutcome.WORKS:
        yield from ("", *config_map_lines(found.config_map))
    yield ""
    for finding in found.others:
        yield f"{finding.kind} {finding.name}: {finding.severity.value}: {finding.message} {finding.effect}"


def _place(source: Path, file: str) -> Path:
    return source / file if source.is_dir() else source


def _ingresses_in(place: Path) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    for document in _documents(place):
        if document.get("kind") == "Ingress":
            metadata = document["metadata"]
            yield (metadata.get("namespace") or "default", metadata["name"]), document


def _documents(place: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of a file that was read before, so that it parses."""
    for document in parse(place.read_bytes(), is_json=place.suffix == ".json"):
        for each in flattened(document) if document is not None else ():
            if isinstance(each, Mapping) and isinstance(each.get("metadata"), Mapping) and each["metadata"].get("name"):
                yield each


def _save(place: Path, documents: list[RawObject]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("x", encoding="utf-8") as opened:
        yaml.dump_all(
            documents,
            opened,
            Dumper=_QuotingDumper,
            sort_keys=False,
            allow_unicode=True,
            width=120,
            explicit_start=True,
        )


class _QuotingDumper(yaml.SafeDumper):
    """Writes every text that is not plain letters in quotes, because other parsers read `1e3` or `0o7` as numbers."""

    def ignore_aliases(self, data: Any) -> bool:
        """Writes out what several places share."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _WORDS
    style = None if is_plain else "|" if "\n" in text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_QuotingDumper.add_representer(str, _text)

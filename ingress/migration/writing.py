"""Runs `zonal migrate`: writes manifests for zonal beside those of another controller, and lists decisions for people.

Writes only into a new or empty folder, unless it changes the class in place. Does not know flags.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ingress.findings import printable
from ingress.migration.belongings import LEFT_TO_CERT_MANAGER, is_solver
from ingress.migration.checking import as_today, judged_dump
from ingress.migration.class_changes import change_classes
from ingress.migration.command import CannotCheck
from ingress.migration.manifest_files import CannotKeep, added_lines, documents_of, save
from ingress.migration.moving import Moved, RawObject, moved_config_map, moved_ingress
from ingress.migration.texts import config_map_lines, ingress_lines, other_line
from ingress.migration.verdicts import IngressOutcome, IngressReview, Review
from ingress.objects.kinds import Kind
from ingress.settings.context import TranslationContext
from ingress.sources.documents import Unparsable
from ingress.sources.dumps import Dump, read_dump
from ingress.sources.folder import FolderUnreadable

_LINE_LIMIT = 4000
_CONFIG_MAP_FILE = "zonal-configmap.yaml"
_IN_PLACE = (
    "Once they are applied, zonal alone serves these Ingresses. Git, or the same command with the classes exchanged, is"
    " the way back."
)
_SIDE_BY_SIDE = (
    "Once they are applied, both controllers serve these Ingresses, each by its class. Start zonal with "
    "--update-status=false until the switch, because ExternalDNS reads the status of both. docs/migrate.md has the "
    "steps and the way back."
)


class MigrateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to move, and where to. `context.ingress_class` is the class of the other controller.

    `config_map` is the `namespace/name` that zonal reads. `class_name` is zonal's class, and names end in `suffix`.
    `output` None: the class is changed in place. `shows_diff`: nothing is written, and the change is printed.
    `gateway` is the `namespace/name` of a new Gateway. `given` are fields of `context` that count before the arguments
    of a controller in the dump.
    """

    source: Path
    output: Path | None
    context: TranslationContext = TranslationContext()
    config_map: str = "zonal/zonal"
    class_name: str = "zonal"
    suffix: str = "zonal"
    shows_diff: bool = False
    gateway: str = "zonal/zonal"
    given: tuple[str, ...] = ()


def run_migrate(options: MigrateOptions) -> None:
    """Writes the manifests, and prints what was written and what a person must decide. Raises `CannotCheck`."""
    try:
        dump = read_dump(options.source)
        context, _ = as_today(options.source, dump, options.context, given=options.given)
        found = judged_dump(dump, context, now_epoch_seconds=time.time())
        if not found.ingresses:
            why = next((f": {finding.message}" for finding in found.others), "")
            raise CannotCheck(f"there is no Ingress of class {options.context.ingress_class} to move{why}")
        lines = _moved(dump, found, options)
    except (OSError, FolderUnreadable, Unparsable, CannotKeep) as error:
        raise CannotCheck(str(error)) from None
    if not options.shows_diff:
        lines += [*_needing(found), _SIDE_BY_SIDE if options.output is not None else _IN_PLACE, found.summary]
    print("\n".join(printable(line, limit=_LINE_LIMIT) for line in lines))


def _moved(dump: Dump, found: Review, options: MigrateOptions) -> list[str]:
    """Writes what is asked for. Returns what to say about it."""
    if options.output is None:
        return [
            *change_classes(
                found, options.source, options.class_name, options.context.ingress_class, options.shows_diff
            )
        ]
    if not options.shows_diff:
        prepare(options.output)
    return [*_write_ingresses(found, options), *write_config_map(dump, found, options)]


def prepare(output: Path) -> None:
    """Makes the folder of the new manifests. Raises `CannotCheck` if something is in it."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise CannotCheck(f"{output} is not empty: name a new folder, because nothing is written over")
    output.mkdir(parents=True, exist_ok=True)


def _write_ingresses(found: Review, options: MigrateOptions) -> Iterator[str]:
    files: dict[str, dict[tuple[str, str], IngressReview]] = {}
    for each in found.ingresses:
        files.setdefault(each.file, {})[each.namespace, each.name] = each
    for file, reviews in sorted(files.items()):
        moved: list[Moved] = []
        solvers: list[str] = []
        for key, document in _ingresses_in(_place(options.source, file)):
            if key not in reviews:
                continue
            del reviews[key]  # a second one in the same file does not count
            if is_solver(document["metadata"].get("labels")):
                solvers.append("/".join(key))
            else:
                moved.append(moved_ingress(document, class_name=options.class_name, suffix=options.suffix))
        yield from _written(file, moved, options)
        for name in solvers:
            yield f"{file}: Ingress {name} {LEFT_TO_CERT_MANAGER}"


def _written(file: str, moved: list[Moved], options: MigrateOptions) -> Iterator[str]:
    if not moved:
        return
    target = Path(file if file.endswith((".yaml", ".yml")) else f"{file}.yaml")
    documents = [each.document for each in moved]
    if options.shows_diff:
        yield from added_lines(target, documents, is_json=file.endswith(".json"))
    elif options.output is not None:
        save(options.output / target, documents, is_json=file.endswith(".json"))
        for new in moved:
            yield f"{target}: Ingress {new.document['metadata']['name']}"
            yield from (f"  {change}" for change in new.changes)


def write_config_map(dump: Dump, found: Review, options: MigrateOptions) -> Iterator[str]:
    """Writes the settings under the name that zonal reads. Returns what to say about that."""
    if not found.config_map.exists:
        return
    namespace, _, name = options.config_map.partition("/")
    if (Kind.CONFIG_MAP, namespace, name) in dump.origins:
        yield f"ConfigMap {options.config_map} exists already: add the keys of {found.config_map.name} to it by hand."
        return
    for document in documents_of(_place(options.source, found.config_map.file)):
        place = document.get("metadata", {})
        if document.get("kind") == "ConfigMap" and found.config_map.name == f"{place.get('namespace')}/{place['name']}":
            moved = [moved_config_map(document, namespace=namespace, name=name)]
            if options.shows_diff:
                yield from added_lines(Path(_CONFIG_MAP_FILE), moved, is_json=True)
            elif options.output is not None:
                save(options.output / _CONFIG_MAP_FILE, moved, is_json=True)
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
    yield from map(other_line, found.others)


def _place(source: Path, file: str) -> Path:
    return source / file if source.is_dir() else source


def _ingresses_in(place: Path) -> Iterator[tuple[tuple[str, str], RawObject]]:
    for document in documents_of(place):
        if document.get("kind") == "Ingress":
            metadata = document["metadata"]
            yield (metadata.get("namespace") or "default", metadata["name"]), document

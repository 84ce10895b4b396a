"""Runs `zonal migrate --to gateway`: writes objects of Gateway API for Ingresses of another controller, and says what
each annotation became and what would be answered differently.

Writes only into a new or empty folder. Does not know flags.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ingress.findings import Findings, printable
from ingress.migration.assuming import SUPPOSED
from ingress.migration.belongings import LEFT_TO_CERT_MANAGER, is_solver
from ingress.migration.checking import as_today, translated_dump
from ingress.migration.command import CannotCheck
from ingress.migration.gateway.comments import comments_of
from ingress.migration.gateway.forms import NameForm
from ingress.migration.gateway.moves import Move, MovedIngress
from ingress.migration.gateway.whole import Key, MovedDump, move_dump
from ingress.migration.judging import review
from ingress.migration.manifest_files import CannotKeep, documents_of, text_of
from ingress.migration.moving import RawObject
from ingress.migration.verdicts import NameStanding, Review
from ingress.migration.writing import MigrateOptions, prepare, write_config_map
from ingress.objects.kinds import Ingress, Kind, key_of
from ingress.settings.context import TranslationContext
from ingress.sources.documents import Unparsable
from ingress.sources.dumps import Dump, read_dump
from ingress.sources.folder import FolderUnreadable
from ingress.translation.cluster.cluster_settings import cluster_settings

_LINE_LIMIT = 4000
_SHARED_FILE = "gateway.yaml"
_PORTS_FILE = "ports.yaml"
_DIFFERENCES_MOST = 200
_STARTING = (
    "Start zonal with ports for Gateways (docs/gateway.md). The Ingresses stay as they are: delete each one when its"
    " routes serve, and keep those of which it is said above that they stay."
)


def run_move(options: MigrateOptions) -> None:
    """Writes the objects, and prints what became of what. Raises `CannotCheck`."""
    try:
        print("\n".join(printable(line, limit=_LINE_LIMIT) for line in _moved(options)))
    except (OSError, FolderUnreadable, Unparsable, CannotKeep) as error:
        raise CannotCheck(str(error)) from None


def _moved(options: MigrateOptions) -> list[str]:
    if options.output is None:
        raise CannotCheck("objects of Gateway API stand beside Ingresses: give --output OUT, a new folder")
    now = time.time()
    dump = read_dump(options.source)
    context, tcp_services = _of_controller(dump, options)
    inventory, translation = translated_dump(dump, context, now_epoch_seconds=now)
    assumed = tuple(sentence for kind, sentence in SUPPOSED.items() if kind in dump.missing)
    found = review(translation, inventory, context, origins=dump.origins, assumed=assumed)
    if not found.ingresses:
        why = next((f": {finding.message}" for finding in found.others), "")
        raise CannotCheck(f"there is no Ingress of class {options.context.ingress_class} to move{why}")
    names = {(each.namespace, each.name) for each in found.ingresses}
    known = [each for each in inventory.of(Ingress) if key_of(each) in names]
    solvers = [each for each in known if is_solver(each.metadata.labels)]
    namespace, _, name = options.gateway.partition("/")
    moved = move_dump(
        inventory,
        translation,
        context,
        ours=[each for each in known if each not in solvers],
        closed=_closed(found),
        redirects=cluster_settings(inventory, context, Findings(), now_epoch_seconds=now).redirects,
        gateway=(namespace, name),
        class_name=options.class_name,
        now_epoch_seconds=now,
        knows_secrets=Kind.SECRET not in dump.missing,
        tcp_services=inventory.config_map(*tcp_services) if tcp_services is not None else None,
    )
    lines = [*assumed]
    if not options.shows_diff:
        prepare(options.output)
    lines += _write(dump, moved, options, options.output)
    lines += write_config_map(dump, found, options)
    lines += [f"Ingress {'/'.join(key_of(each))} {LEFT_TO_CERT_MANAGER}" for each in solvers]
    for each in moved.ingresses:
        lines += ["", *_ingress_lines(each)]
    lines += [f"tcp-services, not written: {each}" for each in moved.withheld]
    return [*lines, "", *_difference_lines(moved), "", _STARTING, _summary(moved)]


def _of_controller(dump: Dump, options: MigrateOptions) -> tuple[TranslationContext, Key | None]:
    """The context with the arguments of the controller in the dump, and the ConfigMap of its ports.

    The context has no such ports, because they become routes.
    """
    context, _ = as_today(options.source, dump, options.context, given=options.given)
    namespace, _, name = (context.tcp_services_configmap or "").partition("/")
    context = msgspec.structs.replace(context, tcp_services_configmap=None, tcp_ports=())
    return context, (namespace, name) if name else None


def _closed(found: Review) -> dict[Key, str]:
    """Why Ingresses answer 503 as they are."""
    closed: dict[Key, str] = {}
    for each in found.ingresses:
        refused = [name.name for name in each.annotations if name.standing is NameStanding.REFUSED]
        if refused:
            verb = "closes" if len(refused) == 1 else "close"
            closed[each.namespace, each.name] = f"{', '.join(refused)} {verb} the Ingress: see zonal check."
    return closed


def _write(dump: Dump, moved: MovedDump, options: MigrateOptions, output: Path) -> Iterator[str]:
    """Writes the files. Returns what to say about them."""
    files: dict[str, list[Key]] = {}
    for each in moved.ingresses:
        key = each.namespace, each.name
        files.setdefault(dump.origins.get((Kind.INGRESS, *key), ""), []).append(key)
    yield from _file(output / _SHARED_FILE, [("", each) for each in moved.shared], options)
    yield from _file(output / _PORTS_FILE, [("", each) for each in moved.ports], options)
    for file, keys in sorted(files.items()):
        comments = _comments(options.source, file)
        target = output / (file if file.endswith((".yaml", ".yml")) else f"{file}.yaml")
        if target in (output / _SHARED_FILE, output / _PORTS_FILE):
            target = output / f"routes-{target.name}"
        written = [
            (comments.get(key, "") if not number else "", document)
            for key in keys
            for number, document in enumerate(moved.objects.get(key, ()))
        ]
        yield from _file(target, written, options)


def _file(target: Path, objects: list[tuple[str, RawObject]], options: MigrateOptions) -> Iterator[str]:
    if not objects:
        return
    text = "".join(comments + text_of([document], is_json=True) for comments, document in objects)
    if options.shows_diff:
        lines = text.splitlines()
        yield from ("--- /dev/null", f"+++ b/{target.name}", f"@@ -0,0 +1,{len(lines)} @@")
        yield from (f"+{line}" for line in lines)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("x", encoding="utf-8") as opened:
        opened.write(text)
    for _, document in objects:
        yield f"{target.name}: {document['kind']} {document['metadata']['name']}"


def _comments(source: Path, file: str) -> dict[Key, str]:
    """The comments of the Ingresses of a file, as lines that stand before their routes."""
    found: dict[Key, str] = {}
    for document in documents_of(source / file if source.is_dir() else source):
        if document.get("kind") == "Ingress":
            metadata = document["metadata"]
            lines = [*dict.fromkeys(comments_of(document))]
            key = str(metadata.get("namespace") or "default"), str(metadata["name"])
            if lines:
                found[key] = "".join(f"# {line}\n" for line in (f"Comments of Ingress {key[1]}:", *lines))
    return found


def _ingress_lines(each: MovedIngress) -> Iterator[str]:
    yield f"{each.namespace}/{each.name}: {each.verdict.value}"
    width = max((len(name.name) for name in each.names), default=0)
    yield from (f"  {_name_line(name, width)}" for name in each.names)
    yield from (f"  not written: {why}" for why in each.withheld)
    yield from (f"  {remark}" for remark in each.remarks)


def _name_line(name: NameForm, width: int) -> str:
    how = f" {name.how}" if name.how and not name.form.value.startswith(("has", "differs", "not")) else ""
    clause = f": {name.how}" if name.how and not how else ""
    return f"{name.name.ljust(width)}  {name.form.value}{how}{clause}  [{name.value}]"


def _difference_lines(moved: MovedDump) -> Iterator[str]:
    if not moved.differing:
        yield "Asked about every host and path and their neighbours, both answer the same."
        return
    yield f"Asked about every host and path and their neighbours, answers differ ({len(moved.differing)}):"
    yield from (f"  {each}" for each in moved.differing[:_DIFFERENCES_MOST])
    if len(moved.differing) > _DIFFERENCES_MOST:
        yield f"  and {len(moved.differing) - _DIFFERENCES_MOST} more"


def _summary(moved: MovedDump) -> str:
    verdicts = [each.verdict for each in moved.ingresses]
    counts = {verdict: verdicts.count(verdict) for verdict in Move}
    said = ", ".join(f"{verdict.value}: {count}" for verdict, count in counts.items() if count)
    noun = "Ingress" if len(verdicts) == 1 else "Ingresses"
    return f"{len(verdicts)} {noun} ({said}). Answers that differ: {len(moved.differing)}."

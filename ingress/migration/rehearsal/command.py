"""Runs `zonal rehearse`: reads a log and a dump, prints how requests would differ, and decides the exit status.

Does not know flags.
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

import msgspec

from balancer.model.zones import Zone
from ingress.findings import printable
from ingress.migration.checking import as_today, translated_dump
from ingress.migration.command import CannotCheck
from ingress.migration.rehearsal.comparing import Unlikeness
from ingress.migration.rehearsal.foreseeing import Oracle
from ingress.migration.rehearsal.lines import UPSTREAMINFO, LoggedRequest, UnknownFormat, line_reader
from ingress.migration.rehearsal.replaying import Rehearsal, Replay
from ingress.migration.rehearsal.savings import Meter
from ingress.migration.verdicts import counted
from ingress.objects.kinds import Service
from ingress.settings.context import TranslationContext
from ingress.sources.dumps import read_dump
from ingress.sources.folder import FolderUnreadable
from ingress.sources.inventory import Inventory

_LINE_LIMIT = 4000
_FORMAT_KEY = "log-format-upstream"


class RehearseOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`log` is an access log, `-` for standard input; a name that ends in .gz is read as gzip.

    `source` is a folder or dump. `format` is the log_format of nginx; empty: that of the ConfigMap, or the default of
    ingress-nginx. `zones` are those of the pods of ingress-nginx; none: those of all endpoints. `listed` is a file for
    every request that would differ. `form` is text or json. `given` are fields of `context` that count before
    the arguments of a controller in `source`.
    """

    log: Path
    source: Path
    context: TranslationContext = TranslationContext()
    format: str = ""
    zones: tuple[str, ...] = ()
    listed: Path | None = None
    form: str = "text"
    given: tuple[str, ...] = ()


def run_rehearse(options: RehearseOptions) -> int:
    """Prints the rehearsal. Returns 1 if a request would differ. Raises `CannotCheck`."""
    try:
        with ExitStack() as stack:
            found = _rehearsed(options, stack)
    except OSError as error:
        said = f"cannot use {error.filename}: {error.strerror}" if error.filename else str(error)
        raise CannotCheck(said) from None
    except (EOFError, FolderUnreadable, UnknownFormat) as error:
        raise CannotCheck(str(error)) from None
    if not found.requests:
        raise CannotCheck(f"{options.log} has no request in this format: name another one by --format")
    print(_written(found, options.form))
    return 1 if found.differences else 0


def _rehearsed(options: RehearseOptions, stack: ExitStack) -> Rehearsal:
    dump = read_dump(options.source)
    context, _ = as_today(options.source, dump, options.context, given=options.given)
    inventory, translation = translated_dump(dump, context, now_epoch_seconds=time.time())
    read = line_reader(options.format or _format_of(inventory, context) or UPSTREAMINFO)
    listed = stack.enter_context(options.listed.open("x", encoding="utf-8")) if options.listed is not None else None
    model = translation.model
    meter = Meter(model, model.zones.prices, map(Zone, options.zones))
    replay = Replay(Oracle(model, _ports(inventory)), meter, lambda *each: _list(listed, *each))
    return replay.run(stack.enter_context(_opened(options.log)), read)


def _opened(log: Path) -> TextIO:
    if str(log) == "-":
        return sys.stdin
    if log.suffix == ".gz":
        return gzip.open(log, "rt", encoding="utf-8", errors="replace")
    return log.open(encoding="utf-8", errors="replace")


def _format_of(inventory: Inventory, context: TranslationContext) -> str:
    namespace, _, name = context.configmap.partition("/")
    config_map = inventory.config_map(namespace, name)
    return "" if config_map is None else config_map.data.get(_FORMAT_KEY, "").strip()


def _ports(inventory: Inventory) -> Mapping[tuple[str, str], Mapping[str, str]]:
    return {
        (service.metadata.namespace, service.metadata.name): {str(port.port): port.name for port in service.spec.ports}
        for service in inventory.of(Service)
    }


def _list(listed: TextIO | None, number: int, logged: LoggedRequest, found: Unlikeness) -> None:
    if listed is not None:
        said = {"line": number, **logged._asdict(), "kind": found.kind.value, "said": found.said}
        listed.write(msgspec.json.encode(said).decode() + "\n")


def _written(found: Rehearsal, form: str) -> str:
    if form == "json":
        document = {**msgspec.to_builtins(found), "differing": found.differing}
        return msgspec.json.format(msgspec.json.encode(document)).decode()
    return "\n".join(printable(line, limit=_LINE_LIMIT) for line in _lines(found))


def _lines(found: Rehearsal) -> Iterator[str]:
    for each in found.differences:
        yield f"{counted(each.requests, 'request')}, {each.kind}: {each.said}"
        yield from (f"  {example}" for example in each.examples)
    if found.differences:
        yield ""
    if found.unread:
        verb = "is no request" if found.unread == 1 else "are no requests"
        yield f"{counted(found.unread, 'line')} {verb} in this format (the first is line {found.first_unread})."
    if found.without_endpoint:
        verb = "does" if found.without_endpoint == 1 else "do"
        yield (
            f"{counted(found.without_endpoint, 'line')} {verb} not say whether an endpoint was asked, so that only the"
            " status and the backend are compared. Add $upstream_addr to log-format-upstream for a better rehearsal."
        )
    if found.without_host:
        verb = "names" if found.without_host == 1 else "name"
        yield (
            f"{counted(found.without_host, 'line')} {verb} no host: such a request counts as the same if it would be"
            " on one of the hosts that lead to its backend. Add $host to log-format-upstream for a better rehearsal."
        )
    saving = found.saving
    if saving.known_bytes:
        month = f", ${saving.a_month:,.2f} a month at this rate" if saving.a_month is not None else ""
        share = saving.known_bytes / max(saving.bytes, 1)
        yield (
            f"Traffic between zones: ${saving.today:,.4f} for these requests; with zone-aware-routing, zonal saves"
            f" ${saving.saved:,.4f} of them{month} ({share:.0%} of the bytes went to endpoints whose zone is known)."
        )
    else:
        yield "Traffic between zones is unknown: the dump names no zone of the endpoints in the log."
    same = found.requests - found.differing
    yield f"{same} of {found.requests} requests would be answered as they were, {found.differing} would differ."

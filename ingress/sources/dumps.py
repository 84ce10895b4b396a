"""Reads a dump: a folder of manifests, or one file such as `kubectl get … -A -o yaml` writes.

Blocks on the disk. Does not know what the objects mean.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ingress.findings import Finding, Severity
from ingress.objects.kinds import Kind
from ingress.sources.documents import FILE_BYTES
from ingress.sources.events import Event, Replaced, SourceFindings
from ingress.sources.folder import SOURCE, Folder, FolderUnreadable
from ingress.sources.manifests import Manifest, ObjectKey, merge, read_manifest, too_large


class Dump(msgspec.Struct, frozen=True):
    """What was read: one `Replaced` for each kind, which definitions there are, the findings about files, and the file
    of each object.
    """

    events: tuple[Event, ...]
    origins: dict[ObjectKey, str]

    @property
    def missing(self) -> frozenset[Kind]:
        """The kinds of which the dump has no object."""
        return frozenset(event.kind for event in self.events if isinstance(event, Replaced) and not event.objects)


def read_dump(place: Path) -> Dump:
    """Everything in a folder, or in one file. Raises `FolderUnreadable`."""
    if place.is_dir() or not place.exists():
        folder = Folder(place)
        events = tuple(map(_of_dump, folder.open()))
        return Dump(events, folder.origins())
    manifest = _read_file(place)
    contents = merge({place.name: manifest})
    events = (*contents.replaced(), _of_dump(SourceFindings(SOURCE, contents.findings)))
    return Dump(events, dict.fromkeys(contents.objects, place.name))


def _of_dump(event: Event) -> Event:
    """An event of something that is read once: of a file or object that cannot be read, nothing is kept."""
    if not isinstance(event, SourceFindings):
        return event
    return SourceFindings(event.source, tuple(map(_left_out, event.findings)))


def _left_out(finding: Finding) -> Finding:
    change = msgspec.structs.replace
    match finding.reason:
        case "FileUnreadable":
            hint = " Templates have to be rendered first (helm template, kustomize build)."
            return change(finding, message=finding.message + hint, effect="What the file holds is left out.")
        case "FileTooLarge":
            return change(finding, effect="What the file holds is left out.")
        case "ObjectMalformed" if finding.kind == "File":  # such as values of a chart, which no cluster takes either
            return change(finding, effect="It is left out.", severity=Severity.COSMETIC)
        case "ObjectMalformed":
            return change(finding, effect="It is left out.")
    return finding


def _read_file(place: Path) -> Manifest:
    try:
        with place.open("rb") as opened:
            data = opened.read(FILE_BYTES + 1)
    except OSError as error:
        raise FolderUnreadable(f"cannot read {place}: {error.strerror}") from None
    if len(data) > FILE_BYTES:
        return too_large(Manifest(), path=place.name)
    return read_manifest(data, path=place.name, last=Manifest())

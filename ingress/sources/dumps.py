"""Reads a dump: a folder of manifests, or one file such as `kubectl get … -A -o yaml` writes.

Blocks on the disk. Does not know what the objects mean.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

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
        events = folder.open()
        return Dump(events, folder.origins())
    manifest = _read_file(place)
    contents = merge({place.name: manifest})
    events = (*contents.replaced(), SourceFindings(SOURCE, contents.findings))
    return Dump(events, dict.fromkeys(contents.objects, place.name))


def _read_file(place: Path) -> Manifest:
    try:
        with place.open("rb") as opened:
            data = opened.read(FILE_BYTES + 1)
    except OSError as error:
        raise FolderUnreadable(f"cannot read {place}: {error.strerror}") from None
    if len(data) > FILE_BYTES:
        return too_large(Manifest(), path=place.name)
    return read_manifest(data, path=place.name, last=Manifest())

"""The folder source: manifests on disk, followed while people edit them.

Responsible for noticing saved edits and for never mistaking a save in progress for content: a file counts as changed
only once it looks the same in two polls. Reading and parsing happen in a thread, because the event loop may be serving
requests. It must not know what the objects mean.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import msgspec

from ingress.findings import Finding, Findings
from ingress.objects import Kind
from ingress.sources.contract import Wanted
from ingress.sources.documents import FILE_BYTES
from ingress.sources.events import Event, Removed, Replaced, SourceFindings, Upserted
from ingress.sources.manifests import (
    Contents,
    Manifest,
    file_subject,
    merge,
    read_manifest,
    too_large,
    unreadable,
)

SOURCE = "folder"
"""The name of this source in its `SourceFindings`."""

_SUFFIXES = (".yaml", ".yml", ".json")
# A file that never rests is read after 2 s of the default poll; a saved edit must apply within that time.
_RESTLESS_POLLS = 8

# Nobody nests manifests so deep. A walk without a bound ends in an exception, and the longest path has 2,048 levels.
_DEPTH = 32

_Signature = tuple[int, int, int]


class FolderUnreadable(OSError):
    """The manifest folder itself cannot be read; the text is one line for the command line."""


async def watch_folder(directory: Path, *, poll_seconds: float = 0.25) -> AsyncGenerator[Event, None]:
    """First every kind as `Replaced`, then each change within four polls of its save, for ever.

    Files are every `*.yaml`, `*.yml` and `*.json` below `directory`, hidden ones apart. Raises `FolderUnreadable` if
    the folder cannot be read at the start; if it disappears later, its last content is kept and becomes a finding.
    """
    folder = Folder(directory)
    for event in await asyncio.to_thread(folder.open):
        yield event
    while True:
        await asyncio.sleep(poll_seconds)
        for event in await asyncio.to_thread(folder.poll):
            yield event


class FolderSource:
    """A manifest folder as a source: everything in it is known, so nothing else is ever wanted of it."""

    __slots__ = ("_directory",)

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def events(self) -> AsyncGenerator[Event, None]:
        """See `watch_folder`."""
        return watch_folder(self._directory)

    def want(self, wanted: Wanted) -> bool:
        """See `Source.want`."""
        return True


class Folder:
    """What was read of a directory, file by file; every method blocks on the disk."""

    __slots__ = ("_contents", "_directory", "_files", "_hidden")

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[str, _File] = {}
        self._hidden: dict[str, str] = {}
        self._contents = Contents({}, ())

    def open(self) -> tuple[Event, ...]:
        """Read everything; one `Replaced` for each kind and what is wrong with the files."""
        found = _scan(self._directory)
        if problem := found.unreadable.get(""):
            raise FolderUnreadable(f"cannot read manifest folder {self._directory}: {problem}")
        for path, signature in found.signatures.items():
            self._files[path] = _File()
            self._read(path, signature)
        self._contents = self._merged(found)
        self._hidden = found.unreadable
        objects = self._contents.objects.values()
        replaced = (Replaced(kind, tuple(item for item in objects if item.kind is kind)) for kind in Kind)
        return *replaced, SourceFindings(SOURCE, self._contents.findings)

    def poll(self) -> tuple[Event, ...]:
        """Look again; the events that lead from what was known to what is there now."""
        found = _scan(self._directory)
        paths = (path for path in self._files.keys() | found.signatures.keys() if not found.hides(path))
        changed = [path for path in paths if self._has_changed(path, found.signatures.get(path))]
        if not changed and found.unreadable == self._hidden:
            return ()
        for path in changed:
            self._take(path, found.signatures.get(path))
        before, self._contents, self._hidden = self._contents, self._merged(found), found.unreadable
        return tuple(_changes(before, self._contents))

    def _has_changed(self, path: str, signature: _Signature | None) -> bool:
        return self._files.setdefault(path, _File()).is_settled(signature)

    def _take(self, path: str, signature: _Signature | None) -> None:
        if signature is None:
            del self._files[path]
        else:
            self._read(path, signature)

    def _read(self, path: str, signature: _Signature) -> None:
        file, place = self._files[path], self._directory / path
        if signature[1] > FILE_BYTES:
            # Not opened: a sparse file may be larger than the memory.
            file.manifest = too_large(file.manifest, path=path)
            file.applied = signature
            return
        try:
            with place.open("rb") as opened:
                # What has grown since is overtaken, and read again if it may be.
                data = opened.read(FILE_BYTES)
            overtaken = _signature(place.stat()) != signature
        except OSError as error:
            # Without a signature the next polls try again: permissions change without a trace in it.
            file.applied = None
            file.manifest = unreadable(file.manifest, path=path, problem=f"cannot be read: {error.strerror}")
            return
        if overtaken and file.manifest.objects:
            # Perhaps half a file; there is something better to serve until it rests again.
            return
        file.manifest = read_manifest(data, path=path, last=file.manifest)
        file.applied = signature

    def _merged(self, found: _Scan) -> Contents:
        merged = merge({path: file.manifest for path, file in self._files.items()})
        return Contents(merged.objects, tuple(sorted((*merged.findings, *found.findings()))))


class _File:
    """One file: what was read of it, and what was last seen on disk."""

    __slots__ = ("_polls", "_seen", "applied", "manifest")

    def __init__(self) -> None:
        self.manifest = Manifest()
        self.applied: _Signature | None = None
        self._seen: _Signature | None = None
        self._polls = 0

    def is_settled(self, signature: _Signature | None) -> bool:
        """Whether the file differs from what was read and has come to rest; None: it is not there."""
        if signature == self.applied and signature is not None:
            self._polls = 0
            return False
        at_rest = self._polls > 0 and signature == self._seen
        self._seen = signature
        self._polls += 1
        if not at_rest and self._polls < _RESTLESS_POLLS:
            return False
        self._polls = 0
        return True


class _Scan(msgspec.Struct, frozen=True):
    """What a walk through the folder saw: signatures by relative path, and why other paths could not be read."""

    signatures: dict[str, _Signature]
    unreadable: dict[str, str]

    def hides(self, path: str) -> bool:
        """Whether nothing is known about the path because it, or a directory above it, could not be read."""
        return any(place in {"", path} or path.startswith(place + "/") for place in self.unreadable)

    def findings(self) -> tuple[Finding, ...]:
        """One finding for each path that could not be read."""
        findings = Findings()
        for place, problem in self.unreadable.items():
            findings.add(
                file_subject(place or "."),
                reason="FolderUnreadable",
                message=f"It cannot be read: {problem}.",
                effect="Its last good content is kept.",
            )
        return findings.frozen()


def _scan(directory: Path) -> _Scan:
    found = _Scan({}, {})
    _walk(directory, "", found=found, seen=set())
    return found


def _walk(directory: Path, prefix: str, *, found: _Scan, seen: set[tuple[int, int]]) -> None:
    try:
        status = directory.stat()
        names = sorted(os.listdir(directory))
    except OSError as error:
        _note_unreadable(prefix.rstrip("/"), error, found=found)
        return
    # Links to directories are followed (mounted ConfigMaps are made of them), loops are not.
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    for name in names:
        if not name.startswith("."):
            _visit(directory / name, prefix + name, found=found, seen=seen)


def _visit(place: Path, path: str, *, found: _Scan, seen: set[tuple[int, int]]) -> None:
    try:
        status = place.stat()
    except OSError as error:
        _note_unreadable(path, error, found=found)
        return
    if stat.S_ISDIR(status.st_mode) and path.count("/") >= _DEPTH:
        found.unreadable[path] = f"it is more than {_DEPTH} directories deep, move it up"
    elif stat.S_ISDIR(status.st_mode):
        _walk(place, path + "/", found=found, seen=seen)
    elif stat.S_ISREG(status.st_mode) and path.endswith(_SUFFIXES):
        found.signatures[path] = _signature(status)


def _note_unreadable(path: str, error: OSError, *, found: _Scan) -> None:
    # What vanished since it was listed is gone; of anything else nothing is known, least of all that it is gone.
    if not path or not isinstance(error, FileNotFoundError):
        found.unreadable[path] = error.strerror or "unknown error"


def _signature(status: os.stat_result) -> _Signature:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _changes(before: Contents, after: Contents) -> Iterator[Event]:
    for kind, namespace, name in before.objects.keys() - after.objects.keys():
        yield Removed(kind, namespace, name)
    for key, item in after.objects.items():
        if before.objects.get(key) != item:
            yield Upserted(item)
    if before.findings != after.findings:
        yield SourceFindings(SOURCE, after.findings)

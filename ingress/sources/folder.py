"""Follows a folder of manifests while people edit it.

Notices saved edits and never mistakes a save in progress for content: changes are read when every changed file looks
the same in two polls, because one edit may change several files, such as an Ingress and its Secret. Reads and parses in
a thread, because the event loop may serve requests. Does not know what the objects mean.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import msgspec

from ingress.findings import Finding, Findings, Severity
from ingress.objects.kinds import key_of
from ingress.sources.contract import Wanted
from ingress.sources.documents import FILE_BYTES
from ingress.sources.events import Event, Removed, SourceFindings, Upserted
from ingress.sources.manifests import (
    Contents,
    Manifest,
    ObjectKey,
    file_subject,
    merge,
    read_manifest,
    too_large,
    unreadable,
)

SOURCE = "folder"
"""The name of this source in its `SourceFindings`."""

_SUFFIXES = (".yaml", ".yml", ".json")
# Changes are read after 2 s of the default poll even if a file never rests, because a saved edit must apply within 2 s.
_RESTLESS_POLLS = 8

# Nobody nests manifests so deep. A walk without a bound ends in an exception: the longest path has 2,048 levels.
_DEPTH = 32

_Signature = tuple[int, int, int]


class FolderUnreadable(OSError):
    """The manifest folder itself cannot be read. The text is one line for the command line."""


class FolderSource:
    """A manifest folder as a source. It reports everything in the folder, whatever is wanted."""

    __slots__ = ("_directory", "_poll_seconds", "_unsaid")

    def __init__(self, directory: Path, *, poll_seconds: float = 0.25) -> None:
        """Files are all `*.yaml`, `*.yml` and `*.json` below `directory`, except for hidden ones."""
        self._directory = directory
        self._poll_seconds = poll_seconds
        self._unsaid = 0

    async def events(self) -> AsyncGenerator[Event, None]:
        """First yields every kind as `Replaced`, then each change, without end.

        A change comes within four polls of its save, or within nine while other files are still being written. Raises
        `FolderUnreadable` if the folder cannot be read at the start. If the folder disappears later, its last content
        is kept and a finding says so.
        """
        folder = Folder(self._directory)
        events = await asyncio.to_thread(folder.open)
        while True:
            for said, event in enumerate(events, 1):
                self._unsaid = len(events) - said
                yield event
            await asyncio.sleep(self._poll_seconds)
            events = await asyncio.to_thread(folder.poll)

    def want(self, wanted: Wanted) -> bool:
        """See `Source.want`: whether every event of the last look at the folder has been yielded."""
        return self._unsaid == 0


class Folder:
    """What was read of a directory, file by file. Every method blocks on the disk."""

    __slots__ = ("_contents", "_directory", "_files", "_hidden", "_restless_polls")

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[str, _File] = {}
        self._hidden: dict[str, str] = {}
        self._restless_polls = 0
        self._contents = Contents({}, ())

    def open(self) -> tuple[Event, ...]:
        """Reads everything. Returns one `Replaced` for each kind, which definitions there are, and the findings about
        files.
        """
        found = _scan(self._directory)
        if problem := found.unreadable.get(""):
            raise FolderUnreadable(f"cannot read manifest folder {self._directory}: {problem}")
        for path, signature in found.signatures.items():
            self._files[path] = _File()
            self._read(path, signature)
        self._contents = self._merged(found)
        self._hidden = found.unreadable
        return *self._contents.replaced(), SourceFindings(SOURCE, self._contents.findings)

    def origins(self) -> dict[ObjectKey, str]:
        """The file of every object that was read, relative to the folder; of an object in two files, the first."""
        found: dict[ObjectKey, str] = {}
        for path in sorted(self._files):
            for item in self._files[path].manifest.objects:
                found.setdefault((item.kind, *key_of(item)), path)
        return found

    def poll(self) -> tuple[Event, ...]:
        """Looks again. Returns the events that lead from the known state to the present state."""
        found = _scan(self._directory)
        paths = (path for path in self._files.keys() | found.signatures.keys() if not found.hides(path))
        changed = self._settled([path for path in paths if self._differs(path, found.signatures.get(path))])
        if not changed and found.unreadable == self._hidden:
            return ()
        for path in changed:
            self._take(path, found.signatures.get(path))
        before = self._contents
        self._contents = self._merged(found)
        self._hidden = found.unreadable
        return tuple(_changes(before, self._contents))

    def _differs(self, path: str, signature: _Signature | None) -> bool:
        return self._files.setdefault(path, _File()).differs(signature)

    def _settled(self, changed: list[str]) -> list[str]:
        """`changed` if each of these files rests or the others have waited long enough, else nothing."""
        if all(self._files[path].at_rest for path in changed) or self._restless_polls == _RESTLESS_POLLS - 1:
            self._restless_polls = 0
            return changed
        self._restless_polls += 1
        return []

    def _take(self, path: str, signature: _Signature | None) -> None:
        if signature is None:
            del self._files[path]
        else:
            self._read(path, signature)

    def _read(self, path: str, signature: _Signature) -> None:
        file, place = self._files[path], self._directory / path
        if signature[1] > FILE_BYTES:
            # Not opened, because a sparse file may be larger than the memory.
            file.manifest = too_large(file.manifest, path=path)
            file.applied = signature
            return
        try:
            with place.open("rb") as opened:
                # What a file has grown since then is noticed by the next poll.
                data = opened.read(FILE_BYTES)
            overtaken = _signature(place.stat()) != signature
        except OSError as error:
            # Without a signature the next polls try again, because permissions change without a trace in it.
            file.applied = None
            file.manifest = unreadable(file.manifest, path=path, problem=f"cannot be read: {error.strerror}")
            return
        if overtaken and file.manifest.objects:
            # The file may be half written. Its last good content is served until it rests again.
            return
        file.manifest = read_manifest(data, path=path, last=file.manifest)
        file.applied = signature

    def _merged(self, found: _Scan) -> Contents:
        merged = merge({path: file.manifest for path, file in self._files.items()})
        findings = Findings((*merged.findings, *found.findings()))
        if not merged.objects and not findings.frozen():  # else the findings say why there is nothing
            _note_emptiness(self._directory, has_files=bool(self._files), findings=findings)
        return Contents(merged.objects, findings.frozen(), merged.definitions)


class _File:
    """One file: what was read of it, and what was last seen on disk."""

    __slots__ = ("_seen", "applied", "at_rest", "manifest")

    def __init__(self) -> None:
        self.manifest = Manifest()
        self.applied: _Signature | None = None
        self.at_rest = False
        """Whether the last two polls saw the same, which is not what was read."""
        self._seen: tuple[_Signature | None] | None = None

    def differs(self, signature: _Signature | None) -> bool:
        """Takes what a poll saw (None: no file). Returns whether that differs from what was read."""
        if signature == self.applied and signature is not None:
            self._seen = None
            self.at_rest = False
            return False
        self.at_rest = self._seen == (signature,)
        self._seen = (signature,)
        return True


class _Scan(msgspec.Struct, frozen=True):
    """What a walk through the folder saw: signatures by relative path, and why other paths could not be read."""

    signatures: dict[str, _Signature]
    unreadable: dict[str, str]

    def hides(self, path: str) -> bool:
        """Whether the state of the path is unknown because it, or a directory above it, could not be read."""
        return any(place in {"", path} or path.startswith(place + "/") for place in self.unreadable)

    def findings(self) -> tuple[Finding, ...]:
        """One finding for each path that could not be read."""
        findings = Findings()
        for place, problem in self.unreadable.items():
            findings.add(
                file_subject(place or "."),
                reason="FolderUnreadable",
                message=f"The path cannot be read: {problem}.",
                severity=Severity.CLOSED,
                effect="Its last good content is kept.",
            )
        return findings.frozen()


def _note_emptiness(directory: Path, *, has_files: bool, findings: Findings) -> None:
    problem = (
        "No file in it holds an object that zonal reads" if has_files else "It has no *.yaml, *.yml or *.json file"
    )
    findings.add(
        file_subject("."),
        reason="FolderEmpty",
        message=f"{problem}: write manifests into {directory}, or name another folder by --source.",
        effect="No host is served.",
        severity=Severity.CLOSED,
    )


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
    # Links to directories are followed, because mounted ConfigMaps are made of them. Loops are not.
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
    # A file that vanished since it was listed is gone. After any other error its state is unknown.
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
    if before.definitions != after.definitions:
        yield after.provisioned
    if before.findings != after.findings:
        yield SourceFindings(SOURCE, after.findings)

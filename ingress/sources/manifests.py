"""Reads manifest files: bytes into objects, and the objects of many files into one set.

Decides what counts as the content of a file while it is edited. A file that does not parse keeps its last good
content. A malformed object keeps its own last good content, and its neighbours apply. A finding never shows contents of
a file but names. Does not know files on disk or time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import msgspec

from ingress.findings import Finding, Findings, Severity, Subject
from ingress.objects.converting import Document, ObjectError, decode, kind_of
from ingress.objects.definitions import Definitions, definitions_in
from ingress.objects.kinds import CLUSTER_WIDE, Kind, KubernetesObject, key_of, subject_of
from ingress.sources.documents import FILE_BYTES, Unparsable, parse
from ingress.sources.events import Event, Provisioned, Replaced

ObjectKey = tuple[Kind, str, str]
"""Kind, namespace, name."""


class Manifest(msgspec.Struct, frozen=True):
    """The objects of one file in document order, and its findings. `definitions` are those of Gateway API, if it has
    them.
    """

    objects: tuple[KubernetesObject, ...] = ()
    findings: tuple[Finding, ...] = ()
    definitions: Definitions | None = None


class Contents(msgspec.Struct, frozen=True):
    """The objects of all files, each once and numbered in path order, and the findings about the files.

    `definitions` are those of Gateway API, of the first file that has them.
    """

    objects: Mapping[ObjectKey, KubernetesObject]
    findings: tuple[Finding, ...]
    definitions: Definitions | None = None

    @property
    def provisioned(self) -> Provisioned:
        """What files say about the places of Gateways: which definitions there are."""
        found = self.definitions
        return Provisioned() if found is None else Provisioned(bundles=(found.version,), channel=found.channel)

    def replaced(self) -> Iterator[Event]:
        """The events that say all of it but the findings: one for each kind, and one if there are definitions."""
        objects = self.objects.values()
        yield from (Replaced(kind, tuple(item for item in objects if item.kind is kind)) for kind in Kind)
        if self.definitions is not None:
            yield self.provisioned


def file_subject(path: str) -> Subject:
    """The subject of findings about a file; `path` is relative to the folder."""
    return Subject("File", "", path)


def read_manifest(data: bytes, *, path: str, last: Manifest) -> Manifest:
    """The content of a file with the bytes `data`, whose last good content is `last`.

    `path` is relative to the folder. `.json` is read as JSON, everything else as YAML. Never raises, whatever the
    bytes.
    """
    findings = Findings()
    if not data and last.objects:
        return unreadable(last, path=path, problem="is empty: delete the file to remove its objects")
    try:
        documents = parse(data, is_json=path.endswith(".json"))
    except Unparsable as error:
        return unreadable(last, path=path, problem=str(error))
    kept = {_object_key(item): item for item in last.objects}
    flat = [item for document in documents if document is not None for item in flattened(document)]
    objects = tuple(item for document in flat if (item := _object(document, path, kept, findings)))
    definitions = (definitions_in(document) for document in flat if isinstance(document, Mapping))
    return Manifest(objects, findings.frozen(), next((each for each in definitions if each is not None), None))


def too_large(last: Manifest, *, path: str) -> Manifest:
    """`last` with the one finding that the file is larger than `FILE_BYTES`."""
    limit = f"{FILE_BYTES // 1024**2} MiB"
    return unreadable(last, path=path, problem=f"is larger than {limit}: split it", reason="FileTooLarge")


def unreadable(last: Manifest, *, path: str, problem: str, reason: str = "FileUnreadable") -> Manifest:
    """`last` with the finding that the file cannot be read. `problem` is a sentence without subject and full stop."""
    findings = Findings()
    severity = Severity.DEGRADED if last.objects else Severity.CLOSED
    findings.add(
        file_subject(path),
        reason=reason,
        message=f"The file {problem}.",
        severity=severity,
        effect="Its last good content is kept.",
    )
    return Manifest(last.objects, findings.frozen(), last.definitions)


def merge(manifests: Mapping[str, Manifest]) -> Contents:
    """All files as one set; `manifests` is by path. If an object is in two files, the first file by path counts."""
    findings = Findings()
    objects: dict[ObjectKey, KubernetesObject] = {}
    origin: dict[ObjectKey, str] = {}
    for path in sorted(manifests):
        findings.extend(manifests[path].findings)
        for item in manifests[path].objects:
            key = _object_key(item)
            if key in objects:
                _note_duplicate(item, path=path, first=origin[key], findings=findings)
                continue
            metadata = msgspec.structs.replace(item.metadata, sequence=len(objects) + 1)
            objects[key] = msgspec.structs.replace(item, metadata=metadata)
            origin[key] = path
    definitions = (manifests[path].definitions for path in sorted(manifests))
    return Contents(objects, findings.frozen(), next((each for each in definitions if each is not None), None))


def flattened(document: object) -> Iterator[object]:
    """The document itself, or the items of a list (`kind: List`, or a list of one kind) as documents."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    items = document.get("items") if isinstance(document, Mapping) else None
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list):
        yield document
        return
    version = cast("Document", document).get("apiVersion")
    for item in items:
        # Items of a typed list have neither apiVersion nor kind; items of a plain List have both.
        implied = {} if kind == "List" else {"apiVersion": version, "kind": kind.removesuffix("List")}
        yield {**implied, **item} if isinstance(item, Mapping) else item


def _object(
    document: object, path: str, kept: Mapping[ObjectKey, KubernetesObject], findings: Findings
) -> KubernetesObject | None:
    if not isinstance(document, Mapping):
        _note_malformed(
            file_subject(path), "A document is not a mapping, as objects are: correct it", path=path, findings=findings
        )
        return None
    try:
        return decode(document)
    except ObjectError as error:
        key = _claimed_key(document)
        subject = Subject(key[0].value, key[1], key[2]) if key else file_subject(path)
        _note_malformed(subject, f"The object {error}", path=path, findings=findings)
        return kept.get(key) if key else None


def _object_key(item: KubernetesObject) -> ObjectKey:
    return item.kind, *key_of(item)


def _claimed_key(document: Document) -> ObjectKey | None:
    """The key that a malformed document claims, as far as it states one."""
    kind, metadata = kind_of(document), document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if kind is None or not isinstance(metadata, Mapping) or not isinstance(name, str):
        return None
    namespace = metadata.get("namespace")
    if kind in CLUSTER_WIDE:
        return kind, "", name
    return kind, namespace if isinstance(namespace, str) and namespace else "default", name


def _note_malformed(subject: Subject, problem: str, *, path: str, findings: Findings) -> None:
    findings.add(
        subject,
        reason="ObjectMalformed",
        message=f"{problem} (in file {path}).",
        severity=Severity.CLOSED,
        effect="Its last good content is kept, if there is any; the rest of the file applies.",
    )


def _note_duplicate(item: KubernetesObject, *, path: str, first: str, findings: Findings) -> None:
    findings.add(
        subject_of(item),
        reason="DuplicateObject",
        message=f"The object in file {path} is already in {first}: remove one of them.",
        severity=Severity.MISROUTED,
        effect="The one that comes first by path is used.",
    )

"""Finds the controller of ingress-nginx among manifests, and reads the arguments that it runs with.

`find_*` block on the disk. Does not know what zonal makes of an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ingress.sources.documents import FILE_BYTES, Unparsable, parse
from ingress.sources.manifests import flattened

_KINDS = frozenset({"Deployment", "DaemonSet", "StatefulSet", "Pod"})
_PROGRAM = b"nginx-ingress-controller"
_IMAGES = ("ingress-nginx/controller", "nginx-ingress-controller")
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})


class OtherController(msgspec.Struct, frozen=True):
    """A workload that runs ingress-nginx. `arguments` are names without dashes and their values, the last one of each.

    A flag without a value has `true`. `$(POD_NAMESPACE)` stands for the namespace. `labels` are those of its pods.
    `file` is empty for one that runs in a cluster.
    """

    kind: str
    namespace: str
    name: str
    file: str
    arguments: Mapping[str, str]
    labels: Mapping[str, str] = {}

    def get(self, name: str) -> str:
        """The value of an argument, empty if it is not given."""
        return self.arguments.get(name, "").replace("$(POD_NAMESPACE)", self.namespace)


def find_controllers(source: Path) -> tuple[OtherController, ...]:
    """The controllers in a folder or file, in the order of their files. What cannot be read has none."""
    found: list[OtherController] = []
    for file in _files(source):
        data = _read(file)
        if _PROGRAM in data or any(image.encode() in data for image in _IMAGES):
            name = str(file.relative_to(source)) if source.is_dir() else file.name
            found += controllers_in(_documents(data, is_json=file.suffix == ".json"), name)
    return tuple(found)


def find_service(source: Path, controller: OtherController) -> Mapping[str, Any] | None:
    """The Service by which clients reach a controller: `publish-service`, or else the one in front of its pods that is
    no ClusterIP. None: the source has none.
    """
    for file in _files(source):
        data = _read(file)
        if b"Service" not in data or controller.namespace.encode() not in data:
            continue
        found = service_in(_documents(data, is_json=file.suffix == ".json"), controller)
        if found is not None:
            return found
    return None


def service_in(documents: Iterable[Mapping[str, Any]], controller: OtherController) -> Mapping[str, Any] | None:
    """The Service of `find_service` among `documents`."""
    told = controller.get("publish-service")
    return next(
        (each for each in documents if each.get("kind") == "Service" and _leads_to(each, controller, told)), None
    )


def _leads_to(service: Mapping[str, Any], controller: OtherController, told: str) -> bool:
    metadata, spec = _mapping(service.get("metadata")), _mapping(service.get("spec"))
    namespace = str(metadata.get("namespace") or "default")
    if told:
        return f"{namespace}/{metadata.get('name')}" == told
    selector = _mapping(spec.get("selector"))
    is_before_it = bool(selector) and all(controller.labels.get(name) == value for name, value in selector.items())
    return namespace == controller.namespace and is_before_it and spec.get("type") in {"LoadBalancer", "NodePort"}


def _files(source: Path) -> list[Path]:
    return sorted(each for each in source.rglob("*") if each.suffix in _SUFFIXES) if source.is_dir() else [source]


def _documents(data: bytes, *, is_json: bool) -> Iterator[Mapping[str, Any]]:
    try:
        documents = parse(data, is_json=is_json)
    except Unparsable:
        return
    for document in (item for each in documents for item in flattened(each)):
        if isinstance(document, Mapping):
            yield document


def _read(file: Path) -> bytes:
    try:
        return b"" if file.stat().st_size > FILE_BYTES else file.read_bytes()
    except OSError:
        return b""


def controllers_in(documents: Iterable[Mapping[str, Any]], file: str = "") -> Iterator[OtherController]:
    """The controllers among `documents`, which were read in `file`; empty for those of a cluster."""
    for document in documents:
        if document.get("kind") in _KINDS:
            metadata = _mapping(document.get("metadata"))
            for container in _containers(document):
                words = [str(word) for field in ("command", "args") for word in _items(container.get(field))]
                image = str(container.get("image", ""))
                if any(word.endswith("nginx-ingress-controller") for word in words[:3]) or any(
                    known in image for known in _IMAGES
                ):
                    yield OtherController(
                        str(document["kind"]),
                        str(metadata.get("namespace") or "default"),
                        str(metadata.get("name", "")),
                        file,
                        dict(_arguments(words)),
                        _mapping(_mapping(_pod(document).get("metadata")).get("labels")),
                    )


def _pod(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return document if document["kind"] == "Pod" else _mapping(_mapping(document.get("spec")).get("template"))


def _containers(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (_mapping(each) for each in _items(_mapping(_pod(document).get("spec")).get("containers")))


def _arguments(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What stands behind the name of the program, which another one such as dumb-init may start."""
    place = next((number for number, word in enumerate(words) if word.endswith("nginx-ingress-controller")), -1)
    for word in words[place + 1 :]:
        if word.startswith("-") and word.strip("-"):
            name, equals, value = word.lstrip("-").partition("=")
            yield name, value if equals else "true"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []

"""Finding one's way in a set of objects: by kind, by name, and the pod that the workload makes."""

from __future__ import annotations

from collections.abc import Iterable

from tests.features.deploying.rendering import Document


def of_kind(objects: Iterable[Document], *kinds: str) -> list[Document]:
    return [each for each in objects if each["kind"] in kinds]


def only(objects: Iterable[Document], kind: str) -> Document:
    """The one object of a kind; a second or none is an error."""
    (found,) = of_kind(objects, kind)
    return found


def key(each: Document) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    metadata = each["metadata"]
    return each["kind"], metadata.get("namespace", ""), metadata["name"]


def workload(objects: Iterable[Document]) -> Document:
    """The Deployment or DaemonSet that makes our pods."""
    (found,) = of_kind(objects, "Deployment", "DaemonSet")
    return found


def pod(objects: Iterable[Document]) -> Document:
    """The template of our pods: metadata and spec."""
    template: Document = workload(objects)["spec"]["template"]
    return template


def container(objects: Iterable[Document]) -> Document:
    """The one container of our pods."""
    (found,) = pod(objects)["spec"]["containers"]
    document: Document = found
    return document


def argument(objects: Iterable[Document], name: str) -> str | None:
    """The value of an option among the container's arguments."""
    given = (text.partition("=") for text in container(objects)["args"])
    return next((value for option, _, value in given if option == name), None)

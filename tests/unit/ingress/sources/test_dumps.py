"""A dump is a folder or a file, and every object knows its file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ingress.findings import Finding, Severity
from ingress.objects.kinds import Kind
from ingress.sources.documents import FILE_BYTES
from ingress.sources.dumps import read_dump
from ingress.sources.events import Replaced, SourceFindings
from ingress.sources.folder import FolderUnreadable
from tests.integration.manifests import Document, ingress, path, rule, service

WEB = ingress("web", rule("shop.test", path("/", "cart")))


def save(place: Path, *documents: Document) -> None:
    """As `kubectl get -A -o yaml` writes: one List, with everything that the API server adds."""
    for document in documents:
        document["metadata"] |= {
            "uid": "6a0", "resourceVersion": "7", "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
        }  # fmt: skip
    place.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [*documents]}))


def names(place: Path) -> dict[str, str]:
    return {f"{kind.value} {name}": file for (kind, _, name), file in read_dump(place).origins.items()}


def test_a_folder_and_a_file_are_read_alike(tmp_path: Path) -> None:
    save(tmp_path / "all.yaml", WEB, service("cart"))
    assert names(tmp_path) == names(tmp_path / "all.yaml") == {"Ingress web": "all.yaml", "Service cart": "all.yaml"}
    assert read_dump(tmp_path).events == read_dump(tmp_path / "all.yaml").events


def test_what_a_dump_has_nothing_of_is_missing(tmp_path: Path) -> None:
    save(tmp_path / "all.yaml", WEB, service("cart"))
    dump = read_dump(tmp_path)
    assert dump.missing == set(Kind) - {Kind.INGRESS, Kind.SERVICE}
    assert {event.kind for event in dump.events if isinstance(event, Replaced)} == set(Kind)


def test_of_an_object_in_two_files_the_first_counts(tmp_path: Path) -> None:
    save(tmp_path / "b.yaml", WEB)
    save(tmp_path / "a.yaml", WEB)
    assert names(tmp_path) == {"Ingress web": "a.yaml"}


@pytest.mark.parametrize("size", [FILE_BYTES, FILE_BYTES + 1])
def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path, size: int) -> None:
    with (tmp_path / "all.yaml").open("wb") as opened:
        opened.truncate(size)
    (found,) = [
        event.findings for event in read_dump(tmp_path / "all.yaml").events if isinstance(event, SourceFindings)
    ]
    assert [(finding.kind, finding.name) for finding in found] == [("File", "all.yaml")]


def test_a_place_that_does_not_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(FolderUnreadable, match="missing"):
        read_dump(tmp_path / "missing")
    (tmp_path / "secret.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(FolderUnreadable):
        read_dump(tmp_path / "secret.yaml")


def told(place: Path) -> dict[str, Finding]:
    events = read_dump(place).events
    return {each.reason: each for event in events if isinstance(event, SourceFindings) for each in event.findings}


@pytest.mark.parametrize("is_folder", [True, False])
def test_of_what_cannot_be_read_nothing_is_kept(is_folder: bool, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    place = tmp_path if is_folder else file
    file.write_text("name: {{ .Release.Name }}\n")
    template = told(place)["FileUnreadable"]
    assert template.severity is Severity.CLOSED
    assert "helm template" in template.message
    file.write_text("replicas: 3\n")
    values = told(place)["ObjectMalformed"]
    assert (values.severity, values.effect) == (Severity.COSMETIC, "It is left out.")
    file.write_text("apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec: 3\n")
    broken = told(place)["ObjectMalformed"]
    assert (broken.kind, broken.severity, broken.effect) == ("Ingress", Severity.CLOSED, "It is left out.")

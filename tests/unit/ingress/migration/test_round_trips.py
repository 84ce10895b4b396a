"""YAML is written as people wrote it: comments, quotes, numbers, order."""

from __future__ import annotations

import io
from pathlib import Path

from ingress.migration.round_trips import place_of, read_documents, read_file, write_documents

TEXT = """\
---
# Of the shop.
apiVersion: v1 # always
kind: Ingress
metadata:
  name: 'web'
  labels:
    a: 1e3
    b: plain
  annotations:
spec:
  # which one
  ingressClassName: "nginx"
  number: 0o7
  ports: [80, 443]
"""


def written(text: str) -> str:
    opened = io.StringIO()
    write_documents([*read_documents(text)], opened)
    return opened.getvalue()


def test_a_document_comes_out_as_it_was_but_for_quotes_that_parsers_need() -> None:
    assert written(TEXT) == TEXT.replace("a: 1e3", 'a: "1e3"')


def test_the_items_of_lists_are_objects() -> None:
    items = "items:\n- metadata:\n    name: a # mine\n- other\n"
    (found,) = read_documents(f"apiVersion: networking.k8s.io/v1\nkind: IngressList\n{items}")
    assert (found["kind"], found["apiVersion"]) == ("Ingress", "networking.k8s.io/v1")
    assert "# mine" in written(f"apiVersion: v1\nkind: List\n{items}")
    assert [*read_documents("- 1\n")] == []


def test_places_of_values() -> None:
    (found,) = read_documents(TEXT)
    assert place_of(found, "spec", "ingressClassName") == (12, 20)
    assert place_of(found, "spec", "other") is None
    assert place_of(found, "metadata", "annotations", "x") is None


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfkind: a\n")
    assert read_file(tmp_path / "a.yaml") == "kind: a\n"

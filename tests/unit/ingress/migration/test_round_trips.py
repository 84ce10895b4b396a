"""YAML is written as people wrote it: comments, quotes, numbers, order."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ingress.migration.round_trips import (
    place_of,
    read_documents,
    read_file,
    rename_key,
    without_key,
    write_documents,
)

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


COMMENTED = """\
annotations:
  argocd.argoproj.io/sync-wave: "3" # wave
  # the team's gate
  auth-url: "https://x/auth" # url
  # office only
  whitelist: "10.0.0.0/8" # office
  # last
  class: nginx
  # end
"""


def changed(change: Callable[[dict[str, Any]], None]) -> str:
    (found,) = read_documents(f"kind: a\nmetadata:\n{COMMENTED.replace('  ', '    ').replace('annot', '  annot')}")
    change(found["metadata"]["annotations"])
    opened = io.StringIO()
    write_documents([found], opened)
    return opened.getvalue().partition("annotations:\n")[2].replace("    ", "  ")


def test_a_key_that_goes_leaves_the_comments_below_it() -> None:
    whole = COMMENTED.partition("\n")[2]
    first = changed(lambda found: without_key(found, "argocd.argoproj.io/sync-wave"))
    assert first == whole.partition("\n")[2]
    between = changed(lambda found: without_key(found, "auth-url"))
    assert between == whole.replace('  auth-url: "https://x/auth" # url\n', "")
    assert changed(lambda found: without_key(found, "class")) == whole.replace("  class: nginx\n", "")


def test_a_key_that_is_alone_goes_with_its_comments() -> None:
    (found,) = read_documents("a:\n  b: 1 # one\n  # two\n")
    without_key(found["a"], "b")
    assert found == {"a": {}}


def test_a_key_that_is_renamed_keeps_its_place_and_its_comments() -> None:
    expected = COMMENTED.partition("\n")[2].replace("whitelist", "allowlist")
    assert changed(lambda found: rename_key(found, "whitelist", "allowlist")) == expected


def test_objects_that_come_from_no_yaml_are_changed_alike() -> None:
    plain = {"a": "1", "b": "2", "c": "3"}
    rename_key(plain, "b", "d")
    without_key(plain, "a")
    assert [*plain.items()] == [("d", "2"), ("c", "3")]

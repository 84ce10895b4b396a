"""The class changes where it stands, and no other byte."""

from __future__ import annotations

import pytest

from ingress.migration.in_place import with_class

FIELD = """\
# Ours.
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: CLASS   # of the cluster
  rules: []
---
kind: Service
metadata: {name: web}
spec: {ingressClassName: nginx}
"""
ANNOTATION = "kind: Ingress\nmetadata:\n  name: web\n  annotations: {kubernetes.io/ingress.class: CLASS, a: nginx}\n"


@pytest.mark.parametrize("written", ["{}", '"{}"', "'{}'"])
@pytest.mark.parametrize("text", [FIELD, ANNOTATION])
def test_the_class_alone_is_another(text: str, written: str) -> None:
    old, new = text.replace("CLASS", written.format("nginx")), text.replace("CLASS", written.format("zonal"))
    found = with_class(old, "zonal", is_moved=lambda _: True, old_class="nginx")
    assert (found.text, found.names, found.by_hand) == (new, ("web",), ())


@pytest.mark.parametrize("text", [FIELD.replace("CLASS", "&a nginx"), "kind: Ingress\nmetadata: {name: web}\n"])
def test_what_stands_in_no_plain_line_is_left_to_people(text: str) -> None:
    found = with_class(text, "zonal", is_moved=lambda _: True, old_class="nginx")
    assert (found.text, found.names, found.by_hand) == (text, (), ("web",))


def test_others_stay() -> None:
    text = FIELD.replace("CLASS", "nginx")
    assert with_class(text, "zonal", is_moved=lambda _: False, old_class="nginx") == (text, (), ())

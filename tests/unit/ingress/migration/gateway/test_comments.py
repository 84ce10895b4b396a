"""Comments of an object are found with their places."""

from __future__ import annotations

from ingress.migration.gateway.comments import comments_of
from ingress.migration.round_trips import read_documents

TEXT = """
kind: Ingress
metadata:
  name: a  # the name
  annotations:
    # why
    x: "1"
spec:
  rules:
    - host: b  # the host
"""


def test_each_comment_says_where_it_stood() -> None:
    (document,) = read_documents(TEXT)
    found = [*dict.fromkeys(comments_of(document))]
    assert {"metadata.name: the name", "spec.rules[0].host: the host"} <= set(found)
    assert any(each.endswith(": why") for each in found)


def test_plain_values_have_none() -> None:
    assert [*comments_of({"a": [1]})] == []

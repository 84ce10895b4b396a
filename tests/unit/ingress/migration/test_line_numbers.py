"""Ingresses and annotations have lines in their files."""

from __future__ import annotations

from pathlib import Path

from ingress.migration.line_numbers import places_of
from tests.unit.ingress.migration.dumped import CONTEXT, checked, nginx

TEXT = """\
# The shop.
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    nginx.ingress.kubernetes.io/affinity: cookie
    other/name: x
spec: {ingressClassName: nginx, rules: [{host: a.test}]}
"""


def test_lines_of_yaml_and_of_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(TEXT)
    (tmp_path / "bad.yaml").write_bytes(b"\xff")
    found = checked(tmp_path, nginx("api", "/api"), context=CONTEXT)
    lines = places_of(found, tmp_path)
    assert lines["shop", "web", ""] == 5
    assert lines["shop", "web", "affinity"] == 8
    assert lines["shop", "web", "other/name"] == 9
    assert ("shop", "api", "") in lines

"""`zonal migrate --in-place` changes one line for each Ingress, or shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingress.migration.writing import MigrateOptions, run_migrate
from tests.unit.ingress.migration.dumped import CONTEXT

WEB = """\
# The shop.
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web  # keep
  namespace: shop
spec:
  ingressClassName: nginx
  rules:
    - host: shop.test
"""


def run(tmp_path: Path, *, shows_diff: bool = False) -> str:
    (tmp_path / "web.yaml").write_text(WEB)
    run_migrate(MigrateOptions(source=tmp_path, output=None, context=CONTEXT, shows_diff=shows_diff))
    return (tmp_path / "web.yaml").read_text()


def test_the_file_has_the_new_class_and_everything_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == WEB.replace("nginx", "zonal")
    assert "web.yaml: Ingress web is of class zonal now" in capsys.readouterr().out


def test_a_diff_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, shows_diff=True) == WEB
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["--- a/web.yaml", "+++ b/web.yaml"]
    assert [line for line in lines[2:] if line[0] in "+-"] == [
        "-  ingressClassName: nginx",
        "+  ingressClassName: zonal",
    ]


def test_an_ingress_of_a_challenge_stays(tmp_path: Path) -> None:
    solver = WEB.replace(
        "  namespace: shop\n", "  namespace: shop\n  labels: {acme.cert-manager.io/http01-solver: 'true'}\n"
    )
    (tmp_path / "solver.yaml").write_text(solver.replace("name: web", "name: cm-acme-1"))
    run(tmp_path)
    assert "nginx" in (tmp_path / "solver.yaml").read_text()

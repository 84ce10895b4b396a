"""`zonal migrate --to gateway`: what cannot be moved, and a diff that writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingress.migration.command import CannotCheck
from ingress.migration.gateway.command import run_move
from ingress.migration.writing import MigrateOptions
from tests.integration.manifests import ManifestFolder
from tests.unit.ingress.migration.dumped import CONTEXT, nginx


def test_a_diff_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ManifestFolder(tmp_path / "old").write("all.yaml", nginx("cart"))
    run_move(MigrateOptions(source=tmp_path / "old", output=tmp_path / "new", context=CONTEXT, shows_diff=True))
    assert "+kind: HTTPRoute" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()


def test_in_place_has_no_meaning(tmp_path: Path) -> None:
    ManifestFolder(tmp_path / "old").write("all.yaml", nginx("cart"))
    with pytest.raises(CannotCheck, match="--output OUT"):
        run_move(MigrateOptions(source=tmp_path / "old", output=None, context=CONTEXT))


def test_without_an_ingress_there_is_nothing_to_move(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    with pytest.raises(CannotCheck, match="no Ingress"):
        run_move(MigrateOptions(source=tmp_path / "old", output=tmp_path / "new", context=CONTEXT))


def test_nothing_is_written_over(tmp_path: Path) -> None:
    ManifestFolder(tmp_path / "old").write("all.yaml", nginx("cart"))
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "x").write_text("")
    with pytest.raises(CannotCheck, match="not empty"):
        run_move(MigrateOptions(source=tmp_path / "old", output=tmp_path / "new", context=CONTEXT))

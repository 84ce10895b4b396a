"""`zonal migrate --to gateway`: what cannot be moved, and a diff that writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ingress.migration.command import CannotCheck
from ingress.migration.gateway.command import run_move
from ingress.migration.writing import MigrateOptions
from tests.integration.manifests import Document, ManifestFolder
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
    (tmp_path / "old" / "all.yaml").write_text("a: [b")
    with pytest.raises(CannotCheck, match="to move: The file is not valid YAML"):
        run_move(MigrateOptions(source=tmp_path / "old", output=tmp_path / "new", context=CONTEXT))


def test_nothing_is_written_over(tmp_path: Path) -> None:
    ManifestFolder(tmp_path / "old").write("all.yaml", nginx("cart"))
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "x").write_text("")
    with pytest.raises(CannotCheck, match="not empty"):
        run_move(MigrateOptions(source=tmp_path / "old", output=tmp_path / "new", context=CONTEXT))


def moved(tmp_path: Path, *ingresses: Document) -> list[dict[str, Any]]:
    ManifestFolder(tmp_path / "old").write("all.yaml", *ingresses)
    run_move(MigrateOptions(source=tmp_path / "old", output=tmp_path / "new", context=CONTEXT))
    written = tmp_path / "new" / "all.yaml"
    return [*yaml.safe_load_all(written.read_text())] if written.exists() else []


def secured(document: Document, host: str = "shop.test") -> Document:
    document["spec"]["tls"] = [{"hosts": [host], "secretName": "shop-tls"}]
    return document


def test_calls_over_plain_http_are_redirected_as_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = moved(tmp_path, secured(nginx("calls", backend_protocol="GRPC")))
    assert [(each["kind"], each["metadata"]["name"]) for each in found] == [
        ("GRPCRoute", "calls"),
        ("HTTPRoute", "calls-to-https"),
    ]
    (rule,) = found[1]["spec"]["rules"]
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/"}}]
    assert rule["filters"][0]["requestRedirect"]["scheme"] == "https"
    assert "both answer the same" in capsys.readouterr().out


def test_ingresses_of_challenges_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solver = nginx("cm-acme-1", "/.well-known/acme-challenge/x")
    solver["metadata"]["labels"] = {"acme.cert-manager.io/http01-solver": "true"}
    assert [each["metadata"]["name"] for each in moved(tmp_path, solver, nginx("web"))] == ["web"]
    assert "Ingress shop/cm-acme-1 is left out: cert-manager made it" in capsys.readouterr().out


def test_an_alias_has_the_certificate_of_its_ingress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moved(tmp_path, secured(nginx("web", server_alias="old.shop.test")))
    assert "both answer the same" in capsys.readouterr().out


def test_a_name_that_closes_the_ingress_is_not_said_to_be_needless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert moved(tmp_path, nginx("web", limit_connection="5", auth_snippet="x y;")) == []
    said = capsys.readouterr().out
    assert "limit-connection  has no form, so its paths are not written: correct or remove it  [5]" in said
    assert "not written: auth-snippet, limit-connection close the Ingress: see zonal check." in said

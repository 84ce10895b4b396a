"""`zonal migrate`: new manifests beside the old ones, which zonal serves as the old ones; nothing is written over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from balancer.model.publication import RoutingModel
from ingress.migration.adopting import Adoption
from ingress.migration.command import CannotCheck
from ingress.migration.writing import MigrateOptions, run_migrate
from ingress.settings.context import TranslationContext
from ingress.sources.folder import Folder
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import translate
from tests.integration.manifests import ManifestFolder, ingress_class, service
from tests.unit.ingress.migration.dumped import CONTEXT, controller, nginx, settings


def migrate(tmp_path: Path, **changes: Any) -> Path:
    out = tmp_path / "new"
    run_migrate(MigrateOptions(source=tmp_path / "old", output=out, context=CONTEXT, **changes))
    return out


def documents(place: Path) -> list[dict[str, Any]]:
    return [each for file in sorted(place.rglob("*.yaml")) for each in yaml.safe_load_all(file.read_text())]


def model_of(place: Path, context: TranslationContext) -> RoutingModel:
    """What zonal serves of a folder, without the names of the Ingresses."""
    inventory = Inventory()
    for event in Folder(place).open():
        inventory.apply(Adoption(context.ingress_class, context.controller_class).adopted(event))
    return translate(inventory, context).model


def anonymous(model: RoutingModel) -> list[tuple[Any, ...]]:
    return [
        (
            host.name,
            route.path,
            route.kind,
            route.main.backend,
            route.policy,
            route.main.affinity,
            route.gates,
            route.closed,
        )
        for host in model.hosts
        for route in host.routes
    ]


def test_the_new_manifests_are_served_as_the_old_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = ManifestFolder(tmp_path / "old")
    next_one = nginx("next", service="cart-next", canary="true", canary_weight="10")
    office = nginx("office", "/office", whitelist_source_range="10.0.0.0/8", proxy_read_timeout="1e1")
    ManifestFolder(tmp_path / "old" / "shop").write(
        "web.yaml", nginx("web", affinity="cookie", proxy_read_timeout="30"), next_one
    )
    old.write("office.yaml", office, service("cart"), service("cart-next"))
    old.write("settings.yaml", settings(keep_alive="60", ssl_redirect="false"))
    out = migrate(tmp_path)
    assert {str(file.relative_to(out)) for file in out.rglob("*.yaml")} == {
        "office.yaml",
        "shop/web.yaml",
        "zonal-configmap.yaml",
    }
    new = ManifestFolder(out)
    new.write("services.yaml", service("cart"), service("cart-next"), ingress_class())
    assert anonymous(model_of(out, TranslationContext())) == anonymous(model_of(tmp_path / "old", CONTEXT))
    said = capsys.readouterr().out
    assert "whitelist-source-range is called allowlist-source-range now." in said
    assert "shop/web.yaml: Ingress web-zonal" in said
    assert said.endswith(" need you.\n")


def test_every_text_stays_a_text_for_every_parser(tmp_path: Path) -> None:
    old = ManifestFolder(tmp_path / "old")
    values = ["1e3", "0o7", "off", "2024-01-01", "yes", "a: b", "line\nbreak", "#x", "1:30", ".inf", "~", "plain"]
    odd = nginx("web")
    odd["metadata"]["labels"] = {f"label-{number}": value for number, value in enumerate(values)}
    old.write("all.yaml", odd)
    written = (migrate(tmp_path) / "all.yaml").read_text()
    assert documents(tmp_path / "new")[0]["metadata"]["labels"] == odd["metadata"]["labels"]
    assert ': "1e3"' in written
    assert ': "0o7"' in written


def test_a_dump_in_one_file_is_moved_as_well_and_ours_is_not(tmp_path: Path) -> None:
    mine = nginx("mine", "/mine")
    mine["spec"]["ingressClassName"] = "zonal"
    ManifestFolder(tmp_path / "old").write("dump.json", nginx("web"), mine, ingress_class())
    source, out = tmp_path / "old" / "dump.json", tmp_path / "new"
    run_migrate(MigrateOptions(source=source, output=out, context=CONTEXT, class_name="inner", suffix="inner"))
    (found,) = documents(out)
    assert (found["metadata"]["name"], found["spec"]["ingressClassName"]) == ("web-inner", "inner")


def test_a_configmap_of_zonal_that_exists_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = {**settings(keep_alive="1"), "metadata": {"name": "zonal", "namespace": "zonal"}}
    ManifestFolder(tmp_path / "old").write("all.yaml", nginx("web"), settings(keep_alive="60"), mine)
    assert not (migrate(tmp_path) / "zonal-configmap.yaml").exists()
    assert "by hand" in capsys.readouterr().out


def test_what_needs_somebody_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ManifestFolder(tmp_path / "old").write("all.yaml", nginx("web", configuration_snippet="deny all;"))
    migrate(tmp_path)
    said = capsys.readouterr().out
    assert "shop/web (all.yaml): closed" in said
    assert "configuration-snippet" in said


def test_what_becomes_of_the_keys_of_the_configmap_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ManifestFolder(tmp_path / "old").write("all.yaml", nginx("web"), settings(server_snippet="location / {}"))
    migrate(tmp_path)
    said = capsys.readouterr().out
    assert "ConfigMap ingress-nginx/ingress-nginx-controller (all.yaml): unprotected" in said
    assert "server-snippet" in said


def test_nothing_is_written_over_and_nothing_to_move_is_no_success(tmp_path: Path) -> None:
    other = nginx("web")
    other["spec"]["ingressClassName"] = "traefik"
    ManifestFolder(tmp_path / "old").write("all.yaml", other)
    with pytest.raises(CannotCheck, match="no Ingress of class nginx"):
        migrate(tmp_path)
    (tmp_path / "old" / "all.yaml").write_text("a: [b")
    with pytest.raises(CannotCheck, match="no Ingress of class nginx to move: The file is not valid YAML"):
        migrate(tmp_path)
    ManifestFolder(tmp_path / "old").write("all.yaml", nginx("web"))
    ManifestFolder(tmp_path / "new").write("mine.yaml", other)
    with pytest.raises(CannotCheck, match="is not empty"):
        migrate(tmp_path)
    with pytest.raises(CannotCheck, match="cannot read"):
        run_migrate(MigrateOptions(source=tmp_path / "missing", output=tmp_path / "x", context=CONTEXT))


def test_comments_stay_and_ingresses_of_challenges_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ManifestFolder(tmp_path / "old").write("web.yaml", nginx("web"))
    web = tmp_path / "old" / "web.yaml"
    web.write_text(f"# The shop.\n{web.read_text()}")
    solver = nginx("cm-acme-1", "/.well-known/acme-challenge/x")
    solver["metadata"]["labels"] = {"acme.cert-manager.io/http01-solver": "true"}
    ManifestFolder(tmp_path / "old").write("solver.yaml", solver)
    out = migrate(tmp_path)
    assert "# The shop." in (out / "web.yaml").read_text()
    assert not (out / "solver.yaml").exists()
    assert "solver.yaml: Ingress shop/cm-acme-1 is left out: cert-manager made it" in capsys.readouterr().out


def test_a_diff_shows_new_files_and_writes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ManifestFolder(tmp_path / "old").write("web.yaml", nginx("web"), settings(keep_alive="60"))
    assert not migrate(tmp_path, shows_diff=True).exists()
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("+++")] == ["+++ b/web.yaml", "+++ b/zonal-configmap.yaml"]
    assert all(line[0] in "+-@" for line in lines)


def test_the_arguments_of_the_controller_count_as_in_a_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise the ConfigMap that it reads would be left out, and with it what protects."""
    other = {**settings(denylist_source_range="203.0.113.0/24"), "metadata": {"name": "mine", "namespace": "ops"}}
    arguments = "--configmap=ops/mine", "--enable-ssl-passthrough"
    ManifestFolder(tmp_path / "old").write(
        "all.yaml", nginx("vault", ssl_passthrough="true"), other, controller(*arguments)
    )
    out = migrate(tmp_path)
    copied = yaml.safe_load((out / "zonal-configmap.yaml").read_text())
    assert copied["data"] == {"denylist-source-range": "203.0.113.0/24"}
    assert "shop/vault (all.yaml): works differently" in capsys.readouterr().out


def test_options_of_the_command_count_before_the_arguments(tmp_path: Path) -> None:
    ManifestFolder(tmp_path / "old").write(
        "all.yaml", nginx("web"), settings(keep_alive="60"), controller("--configmap=ops/mine")
    )
    assert (migrate(tmp_path, given=("configmap",)) / "zonal-configmap.yaml").exists()


def test_what_is_taken_away_leaves_the_comments_of_others(tmp_path: Path) -> None:
    ManifestFolder(tmp_path / "old").write("web.yaml", nginx("web"))
    web = tmp_path / "old" / "web.yaml"
    annotated = """  annotations:
    argocd.argoproj.io/sync-wave: "3"
    # Asked for by the auditors.
    nginx.ingress.kubernetes.io/whitelist-source-range: "10.0.0.0/8" # the office
  name: web
"""
    web.write_text(web.read_text().replace("  annotations: {}\n", "").replace("  name: web\n", annotated, 1))
    written = (migrate(tmp_path) / "web.yaml").read_text()
    assert (
        "    # Asked for by the auditors.\n"
        '    nginx.ingress.kubernetes.io/allowlist-source-range: "10.0.0.0/8" # the office\n'
    ) in written

"""`zonal explain` asks one source: a folder, or a running ingress."""

from __future__ import annotations

import pytest

from ingress.cli.commands import cli, run
from ingress.cli.explaining import FOLDER_SECTION, explain
from ingress.cli.flags import BadInput, section_of


def test_of_source_and_admin_what_was_typed_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of a serving pod are there for a command in it as well."""
    monkeypatch.setenv("ZONAL_SOURCE", "kubernetes")
    with pytest.raises(BadInput, match=r"^--admin http://127\.0\.0\.1:port"):
        cli.main(["explain", "http://shop.test/", "--admin", "http://127.0.0.1:port"], standalone_mode=False)
    monkeypatch.setenv("ZONAL_ADMIN", "http://127.0.0.1:port")
    with pytest.raises(BadInput, match="cannot read manifest folder missing"):
        cli.main(["explain", "http://shop.test/", "--source", "missing"], standalone_mode=False)


def test_what_counts_for_a_folder_counts_in_run_as_well() -> None:
    names = {parameter.name for parameter in explain.params if section_of(parameter) == FOLDER_SECTION}
    assert names
    assert names <= {parameter.name for parameter in run.params}

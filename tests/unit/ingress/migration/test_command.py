"""The command `zonal check` on a dump: its forms, its exit status, and what it says when there is nothing to check."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ingress.migration.command import CannotCheck, CheckOptions, run_check
from ingress.migration.verdicts import IngressOutcome
from tests.fakes.apiserver import ApiServer
from tests.integration.manifests import ManifestFolder, service
from tests.unit.ingress.migration.dumped import CONTEXT, nginx


@pytest.fixture
def place(tmp_path: Path) -> Path:
    ManifestFolder(tmp_path).write(
        "all.yaml", nginx("web", affinity="cookie"), nginx("late", "/late", server_alias="~^a")
    )
    return tmp_path


@pytest.mark.parametrize(
    ("fail_on", "status"),
    [(IngressOutcome.DIFFERS, 1), (IngressOutcome.MISROUTED, 1), (IngressOutcome.CLOSED, 0), (None, 0)],
)
def test_the_exit_status_is_that_of_the_worst_verdict(place: Path, fail_on: IngressOutcome | None, status: int) -> None:
    assert run_check(CheckOptions(source=place, context=CONTEXT, fail_on=fail_on)) == status


def test_each_form_is_what_its_readers_expect(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = {}
    for form in ("text", "json", "sarif", "junit"):
        run_check(CheckOptions(source=place, context=CONTEXT, form=form))
        written[form] = capsys.readouterr().out
    assert written["text"].endswith("0 of 2 Ingresses work as they are, 1 differ, 1 need you.\n")
    assert json.loads(written["json"])["worst"] == "misrouted"
    assert json.loads(written["sarif"])["version"] == "2.1.0"
    assert ElementTree.fromstring(written["junit"]).tag == "testsuites"


async def test_a_cluster_is_checked_by_its_kubeconfig(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with ApiServer() as server:
        for document in (nginx("web"), service("cart")):
            server.put(document)
        options = CheckOptions(kubeconfig=server.write_kubeconfig(tmp_path / "kubeconfig"), context=CONTEXT)
        assert await asyncio.to_thread(run_check, options) == 0
    assert "same as today, because" in capsys.readouterr().out  # the Service has no endpoint


def test_a_check_of_nothing_is_no_success(tmp_path: Path) -> None:
    other = nginx("web")
    other["spec"]["ingressClassName"] = "traefik"
    ManifestFolder(tmp_path).write("all.yaml", other)
    with pytest.raises(CannotCheck, match=r"no Ingress of class nginx \(1 of others\)"):
        run_check(CheckOptions(source=tmp_path, context=CONTEXT))
    (tmp_path / "empty").write_text("")
    with pytest.raises(CannotCheck, match=r"no Ingress of class nginx \(0 of others\): there is no Ingress at all"):
        run_check(CheckOptions(source=tmp_path / "empty", context=CONTEXT))


def test_who_gives_nothing_to_check_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotCheck, match="what to check"):
        run_check(CheckOptions(context=CONTEXT))
    with pytest.raises(CannotCheck, match="cannot read"):
        run_check(CheckOptions(source=tmp_path / "missing", context=CONTEXT))
    with pytest.raises(CannotCheck, match="kubeconfig"):
        run_check(CheckOptions(kubeconfig=tmp_path / "missing", context=CONTEXT))

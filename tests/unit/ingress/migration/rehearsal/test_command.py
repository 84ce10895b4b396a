"""`zonal rehearse` on files: its forms, its exit status, and what it says when there is nothing to replay."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ingress.migration.command import CannotCheck
from ingress.migration.rehearsal.command import RehearseOptions, run_rehearse
from tests.integration.manifests import Document, ManifestFolder, service
from tests.unit.ingress.migration.dumped import CONTEXT, controller, nginx, settings
from tests.unit.ingress.migration.rehearsal.logged import line


def run(place: Path, *lines: str, documents: tuple[Document, ...] = (), **more: Any) -> int:
    ManifestFolder(place / "dump").write("all.yaml", nginx("web"), service("cart"), *documents)
    log = place / "access.log.gz"
    log.write_bytes(gzip.compress("\n".join(lines).encode()))
    return run_rehearse(RehearseOptions(log=log, source=place / "dump", context=CONTEXT, **more))


def test_a_log_without_differences_is_a_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, line(), line("/a")) == 0
    out = capsys.readouterr().out
    assert out.endswith("2 of 2 requests would be answered as they were, 0 would differ.\n")
    assert "2 lines name no host" in out
    assert "Traffic between zones is unknown" in out


def test_differences_fail_and_can_be_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, line(), line("/a", 403, "shop-cart-80", "-"), listed=tmp_path / "listed") == 1
    assert "1 request, protection: ingress-nginx answered 403, zonal asks shop-cart-80" in capsys.readouterr().out
    (listed,) = map(json.loads, (tmp_path / "listed").read_text().splitlines())
    assert (listed["line"], listed["target"], listed["kind"]) == (2, "/a", "protection")


def test_programs_read_json_and_the_format_of_the_configmap_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formatted = settings(log_format_upstream="$host $status $request_uri $upstream_addr $proxy_upstream_name")
    assert run(tmp_path, "shop.test 200 / 10.0.0.1:80 shop-cart-80", documents=(formatted,), form="json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["requests"], found["without_host"], found["differing"]) == (1, 0, 0)


def test_a_log_without_requests_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(CannotCheck, match="--format"):
        run(tmp_path, "nonsense")
    with pytest.raises(CannotCheck, match="status"):
        run(tmp_path, line(), format="$host")
    with pytest.raises(CannotCheck, match="cannot read"):
        run_rehearse(RehearseOptions(log=tmp_path / "access.log.gz", source=tmp_path / "gone", context=CONTEXT))
    ManifestFolder(tmp_path / "shop").write("all.yaml", service("cart"))
    for log, why in ((tmp_path / "no.log", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(CannotCheck, match=f"^cannot use {log}: {why}"):
            run_rehearse(RehearseOptions(log=log, source=tmp_path / "shop", context=CONTEXT))


def test_the_controller_of_the_dump_says_which_configmap_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {**settings(denylist_source_range="203.0.113.0/24"), "metadata": {"name": "mine", "namespace": "ops"}}
    documents = other, controller("--configmap=ops/mine")
    assert run(tmp_path, line("/", 403, "shop-cart-80", "-"), documents=documents) == 0
    assert run(tmp_path, line(), documents=documents, given=("configmap",)) == 0
    assert capsys.readouterr().out.count("1 of 1 requests would be answered as they were") == 2


def test_the_first_line_that_is_no_request_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, line(), "nonsense", line(), "more") == 0
    assert "2 lines are no requests in this format (the first is line 2)." in capsys.readouterr().out

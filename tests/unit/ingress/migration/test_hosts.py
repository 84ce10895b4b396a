"""Hosts in regex mode are listed with the Ingresses that make them so, and with their paths in the order of trial."""

from __future__ import annotations

from pathlib import Path

from tests.unit.ingress.migration.dumped import checked, nginx


def test_a_host_with_an_expression_is_listed_with_all_of_its_paths(tmp_path: Path) -> None:
    api = nginx("api", "/api(/|$)(.*)", "api", use_regex="true", rewrite_target="/$2")
    api["spec"]["rules"][0]["http"]["paths"][0]["pathType"] = "ImplementationSpecific"
    plain = nginx("plain", host="other.test", use_regex="false")
    (found,) = checked(tmp_path, api, nginx("spa"), plain).regex_hosts
    assert (found.host, found.because_of) == ("shop.test", ("shop/api",))
    assert [change.partition(" of ")[0] for change in found.changes] == ['"/api(/|$)(.*)"', '"/"']
    assert "shop/spa" in found.changes[1]


def test_a_rewrite_that_changes_nothing_makes_no_expressions(tmp_path: Path) -> None:
    assert checked(tmp_path, nginx("web", rewrite_target="/")).regex_hosts == ()


def test_of_many_paths_the_rest_is_counted(tmp_path: Path) -> None:
    many = nginx("web", use_regex="true")
    paths = many["spec"]["rules"][0]["http"]["paths"]
    paths += [{**paths[0], "path": f"/p{number}"} for number in range(60)]
    (found,) = checked(tmp_path, many).regex_hosts
    assert len(found.changes) == 51
    assert found.changes[-1] == "11 more paths are not listed."

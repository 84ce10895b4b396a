"""A check names the hosts in regex mode, who makes them so, and the paths of others that match more."""

from __future__ import annotations

from pathlib import Path

from ingress.migration.verdicts import IngressOutcome, RegexHostReview
from tests.unit.ingress.migration.dumped import checked, nginx, of


def test_a_host_in_regex_mode_is_named_with_its_authors_and_what_changes(tmp_path: Path) -> None:
    found = checked(
        tmp_path,
        nginx("web", "/shop"),
        nginx("root", "/"),
        nginx("api", "/api/(.*)", rewrite_target="/$1"),
        nginx("ids", "/id/[0-9]+", use_regex="true"),
        nginx("odd", "/odd", use_regex="yes"),
        nginx("other", host="other.test"),
    )
    assert found.regex_hosts == (
        RegexHostReview(
            host="shop.test",
            because_of=("shop/api", "shop/ids"),
            changes=(
                "/shop of shop/web matches every path that begins so, in any case.",
                "/odd of shop/odd matches every path that begins so, in any case.",
            ),
        ),
    )


def test_what_ingress_nginx_does_as_well_makes_no_ingress_worse(tmp_path: Path) -> None:
    found = checked(tmp_path, nginx("web", "/shop"), nginx("api", "/api/(.*)", rewrite_target="/$1"))
    assert [of(found, name).verdict for name in ("web", "api")] == [IngressOutcome.WORKS, IngressOutcome.WORKS]
    assert of(found, "web").remarks == ()


def test_of_many_changed_paths_some_are_named(tmp_path: Path) -> None:
    many = [nginx(f"web-{number}", f"/shop-{number}") for number in range(25)]
    (host,) = checked(tmp_path, *many, nginx("api", "/api", use_regex="true")).regex_hosts
    assert len(host.changes) == 21
    assert host.changes[-1] == "So do 5 more paths."

"""A check as text: one block for each Ingress, and the summary last; as JSON: everything."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from ingress.migration.texts import as_json, as_text
from ingress.migration.verdicts import RegexHostReview
from tests.unit.ingress.migration.dumped import checked, nginx, settings


def test_each_ingress_is_followed_by_its_annotations_and_the_summary_is_last(tmp_path: Path) -> None:
    found = checked(
        tmp_path, nginx("web", affinity="cookie"), nginx("late", "/late", server_alias="~^a"), settings(keep_alive="60")
    )
    lines = as_text(found).split("\n")
    assert lines[0] == "shop/late (all.yaml): misrouted"
    assert lines[1].startswith("  server-alias  ignored: ")
    assert lines[3] == "shop/web (all.yaml): works differently"
    assert lines[4].startswith("  affinity  differs: ")
    assert lines[4].endswith("[cookie]")
    assert "ConfigMap ingress-nginx/ingress-nginx-controller (all.yaml): works" in lines
    assert "  keep-alive  same  [60]" in lines
    assert lines[-1] == found.summary


def test_what_was_not_checked_or_only_supposed_is_said(tmp_path: Path) -> None:
    other = nginx("other")
    other["spec"]["ingressClassName"] = "traefik"
    text = as_text(checked(tmp_path, nginx("web"), other))
    assert "Ingresses of other classes, not checked: 1." in text
    assert "The dump has no Services" in text
    assert "not found, so every key has its default" in text


def test_hosts_in_regex_mode_are_listed_with_what_changes(tmp_path: Path) -> None:
    host = RegexHostReview(host="shop.test", because_of=("shop/web",), changes=("One change.",))
    lines = as_text(msgspec.structs.replace(checked(tmp_path, nginx("web")), regex_hosts=(host,))).split("\n")
    place = lines.index("  shop.test, because of shop/web")
    assert lines[place + 1] == "    One change."


def test_the_json_holds_everything(tmp_path: Path) -> None:
    found = checked(tmp_path, nginx("web", affinity="cookie"))
    document = json.loads(as_json(found))
    assert document["summary"] == found.summary
    assert document["worst"] == "works differently"
    (ingress,) = document["ingresses"]
    assert ingress["annotations"][0]["standing"] == "differs"
    assert document["assumed"] == [*found.assumed]

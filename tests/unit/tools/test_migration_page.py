"""docs/migrate.md names every annotation and key of ingress-nginx once, and is up to date."""

from __future__ import annotations

import re
from pathlib import Path

from ingress.migration.verdicts import IngressOutcome
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.table.whole import INGRESS_OPTIONS
from ingress.settings.unsupported import SATISFIED_ANNOTATIONS, UNSUPPORTED_ANNOTATIONS
from ingress.settings.unsupported_settings import SATISFIED_SETTINGS, UNSUPPORTED_SETTINGS
from tests.unit.ingress.migration.dumped import checked, nginx, of
from tools.migration_page import with_migration_tables

_UNREADABLE = "$nope {x"  # no grammar takes it
# Annotations that mean nothing alone, with one that they need.
_COMPANIONS = {
    **dict.fromkeys(("auth-cache-key", "auth-cache-duration", "auth-method", "auth-response-headers"), "auth-url"),
    **dict.fromkeys(("auth-signin", "auth-request-redirect", "auth-always-set-cookie"), "auth-url"),
}

PAGE = Path(__file__).parents[3] / "docs" / "migrate.md"


def names(section: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def test_every_name_of_ingress_nginx_is_there_once() -> None:
    annotations, keys = names("Annotations"), names("Keys of the ConfigMap")
    assert len(annotations) == len(set(annotations)) >= 136
    assert {*annotations} >= {*UNSUPPORTED_ANNOTATIONS, *SATISFIED_ANNOTATIONS}
    assert len(keys) == len(set(keys)) >= 192
    assert {*keys} >= {*UNSUPPORTED_SETTINGS, *SATISFIED_SETTINGS}


def test_no_key_of_zonal_is_among_those_of_ingress_nginx() -> None:
    keys = set(names("Keys of the ConfigMap"))
    assert keys.isdisjoint({"zone-policy", "zone-aware-routing", "ejection-time", "ignore-settings", "node-watch"})
    assert keys.isdisjoint({"fleet", "fleet-zones", "http2-engine", "http2-max-resets", "path-parameters"})
    assert {"http2-max-concurrent-streams", "otlp-collector-host", "ignore-invalid-headers"} <= keys


def test_cases_that_differ_come_with_their_reason() -> None:
    page = "<!-- made for migration: cases -->\nold\n<!-- end of the table -->\n"
    made = with_migration_tables(page, cases={"gzip/b": "It is better so.", "cors/a": "It fails open."})
    assert "| `cors/a` | It fails open. |\n| `gzip/b` | It is better so. |\n" in made
    assert "old" not in made


def test_a_value_that_cannot_be_read_does_what_the_page_says(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8").split("\n## Annotations\n")[1].split("\n## ")[0]
    said = dict(re.findall(r"^\| `([^`]+)` \|.*\| (closes|default) \|$", text, re.MULTILINE))
    assert len(said) > 80
    ingresses = []
    for number, name in enumerate(said):
        made = nginx(f"i{number}", host=f"h{number}.test")
        beside = {_COMPANIONS[name]: "http://auth.test/"} if name in _COMPANIONS else {}
        given = {**beside, name: _UNREADABLE}
        made["metadata"]["annotations"] = {
            (NGINX_PREFIX + each if NGINX_PREFIX + each in INGRESS_OPTIONS else each): value
            for each, value in given.items()
        }
        ingresses.append(made)
    review = checked(tmp_path, *ingresses)
    closed = {name: of(review, f"i{number}").verdict is IngressOutcome.CLOSED for number, name in enumerate(said)}
    assert closed == {name: what == "closes" for name, what in said.items()}

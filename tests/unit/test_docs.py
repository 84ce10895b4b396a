"""The pages name exactly what the code reads."""

from __future__ import annotations

import re
from pathlib import Path

from ingress.settings import SETTINGS
from ingress.translation.annotations import ANNOTATIONS

DOCS = Path(__file__).parents[2] / "docs"


def rows_of(section: str) -> list[str]:
    """The first cells of a section's table in docs/settings.md."""
    text = (DOCS / "settings.md").read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def test_every_configmap_key_is_documented_once() -> None:
    assert sorted(rows_of("ConfigMap")) == sorted(SETTINGS)


def test_every_annotation_is_documented_once() -> None:
    assert sorted(rows_of("Annotations")) == sorted(ANNOTATIONS)


def test_every_link_between_the_pages_leads_somewhere() -> None:
    pages = [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
    broken = [
        f"{page.name}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []

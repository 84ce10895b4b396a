"""The pages name exactly what the code reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from balancer.errors import ErrorKind
from ingress.settings.table.whole import CONFIGMAP_OPTIONS, INGRESS_OPTIONS
from tools.generators import GENERATORS, stale
from tools.places import ROOT

DOCS = Path(__file__).parents[2] / "docs"


def rows_of(section: str) -> list[str]:
    """The first cells of a section's table in docs/settings.md."""
    text = (DOCS / "settings.md").read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def test_every_configmap_key_is_documented_once() -> None:
    assert sorted(rows_of("ConfigMap")) == sorted(CONFIGMAP_OPTIONS)


def test_every_annotation_is_documented_once() -> None:
    assert sorted(rows_of("Annotations")) == sorted(INGRESS_OPTIONS)


@pytest.mark.parametrize("name", GENERATORS)
def test_files_that_are_made_from_the_sources_are_as_they_are_made(name: str) -> None:
    assert [str(path.relative_to(ROOT)) for path in stale(GENERATORS[name])] == [], "run: make docs"


def test_every_link_between_the_pages_leads_somewhere() -> None:
    pages = [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
    broken = [
        f"{page.name}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def test_every_link_to_a_section_leads_to_a_heading() -> None:
    pages = [*DOCS.parent.glob("*.md"), *DOCS.rglob("*.md")]
    sections = {page.resolve(): sections_of(page.read_text(encoding="utf-8")) for page in pages}
    broken = [
        f"{page.name}: {target}#{section}"
        for page in pages
        for target, section in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
        if "://" not in target and section not in sections[(page.parent / target if target else page).resolve()]
    ]
    assert broken == []


def sections_of(page: str) -> set[str]:
    """The names of a page's headings in links, as code hosts make them. Each heading of a page has another text."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    headings = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", each) for each in re.findall(r"^#+ (.*)$", text, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", each).lower().replace(" ", "-") for each in headings}


def test_a_section_is_named_as_code_hosts_name_it() -> None:
    assert sections_of("# `zonal top`, why?\n\n```sh\n# no heading\n```\n## Load of [it](a.md)\n") == {
        "zonal-top-why",
        "load-of-it",
    }


def test_nobody_is_told_to_install_zonal_from_an_index() -> None:
    """zonal is in none (docs/adr/0040-names.md), so whoever takes the name there would be installed."""
    places = (
        ROOT / "README.md",
        *DOCS.glob("*.md"),
        *(ROOT / "ingress").rglob("*.py"),
        *(ROOT / "balancer").rglob("*.py"),
    )
    told = [
        f"{place.name}: {line}"
        for place in places
        for line in re.findall(r"pip install [^`\n]*", place.read_text(encoding="utf-8"))
        if re.search(r"(?<![/\w])zonal(-ingress)?\b(?!\.)", line)
    ]
    assert told == []


def test_every_finding_about_what_is_easily_forgotten_is_documented_as_it_is_made() -> None:
    """The table of reasons and severities, against the sources."""
    made = set()
    texts = (module.read_text(encoding="utf-8") for module in (DOCS.parent / "ingress").rglob("*.py"))
    for text in texts:
        for call in ast.walk(ast.parse(text)) if "severity=" in text and "reason=" in text else ():
            said = {word.arg: word.value for word in call.keywords if word.arg} if isinstance(call, ast.Call) else {}
            reason, severity = said.get("reason"), said.get("severity")
            if isinstance(reason, ast.Constant) and isinstance(severity, ast.Attribute):
                made.add((reason.value, severity.attr.lower()))
    text = (DOCS / "operations.md").read_text(encoding="utf-8").split("\n## Findings\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE)
    assert len(rows) == 15
    # What endpoint_findings notes of a port has its reason in a variable, and one severity.
    unanswered = {"EndpointSliceMissing", "EndpointPortMissing", "NoReadyEndpoint"}
    assert {row for row in rows if row[0] not in unanswered} <= made
    assert {severity for reason, severity in rows if reason in unanswered} == {"closed"}


def test_every_kind_of_error_is_explained() -> None:
    text = (DOCS / "operations.md").read_text(encoding="utf-8").split("\n## Errors that the proxy answers\n")[1]
    section = text.split("\n## ")[0]
    assert [kind.value for kind in ErrorKind if f"`{kind.value}`" not in section] == []


def test_every_path_that_the_architecture_names_exists() -> None:
    text = (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:balancer|ingress|tests|tools|typed|deploy)/[\w./-]+)`", text)
    assert [path for path in paths if not (DOCS.parent / path).exists()] == []


def test_a_name_without_a_path_stands_in_the_folder_of_the_path_before_it() -> None:
    text = (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")
    sections = [text.split(f"\n## {title}")[1].split("\n## ")[0] for title in ("Where do I change", "Where do I put")]
    rows = [line for section in sections for line in section.splitlines() if line.startswith("| ")]
    assert len(rows) > 100
    assert [lost for row in rows for lost in lost_names(row)] == []


def lost_names(row: str) -> Iterator[str]:
    """Modules that a row of the table names where a reader does not find them."""
    folder = Path()
    for name in re.findall(r"`([\w./]+\.py|(?:balancer|ingress|zonal_hooks|tools)/[\w/]*/)`", row):
        if "/" in name:
            folder = Path(name) if name.endswith("/") else Path(name).parent
        elif not (DOCS.parent / folder / name).is_file():
            yield f"{folder / name}: {row[:60]}"


def test_what_the_architecture_says_to_be_in_a_module_is_there() -> None:
    text = (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert sum(len(named_in(row)) for row in rows) > 30
    lost = [
        (name, module)
        for row in rows
        for name, module in named_in(row)
        if not any(re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")) for path in of_that_name(module))
    ]
    assert lost == []


def named_in(row: str) -> list[tuple[str, str]]:
    """The names that a row says to be in a module, each with the path of that, which may lack its folder."""
    return re.findall(r"`(\w+)` (?:of|in) `([\w/]+\.py)`", row)


def of_that_name(path: str) -> list[Path]:
    """The modules whose path ends so."""
    found = (each for plane in ("balancer", "ingress", "zonal_hooks") for each in (ROOT / plane).rglob(Path(path).name))
    return [each for each in found if each.as_posix().endswith(f"/{path}")]


def test_a_name_in_another_module_is_lost() -> None:
    assert named_in("| a | the row of `PARTS` in `balancer/workers/parts.py`; `b.py` |") == [
        ("PARTS", "balancer/workers/parts.py")
    ]
    assert len(of_that_name("parts.py")) == 1


def test_a_name_in_another_folder_is_lost() -> None:
    assert not list(lost_names("| a | `balancer/picking/health.py`, `evidence.py`; `balancer/zones/` and `split.py` |"))
    (lost,) = lost_names("| a | `balancer/picking/health.py`, `split.py` |")
    assert lost.startswith("balancer/picking/split.py: ")

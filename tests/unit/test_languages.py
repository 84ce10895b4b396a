"""The translation knows no input language but in the folder of each."""

from __future__ import annotations

from tests.unit.sources import SOURCES, is_within, outline

LANGUAGES = {"ingress.translation.gateway", "ingress.translation.ingress"}
"""What Ingresses and the objects of Gateway API mean. Neither folder imports the other."""

SPEAKS_ALL = "ingress.translation.assembly"


def imported(module: str, packages: set[str]) -> set[str]:
    """What `module` imports of `packages`."""
    return {name for name in outline(SOURCES[module]).imports for package in packages if is_within(name, package)}


def languages_of(module: str) -> set[str]:
    """The languages that a module of the translation may not import: all, but for its own."""
    return {language for language in LANGUAGES if not is_within(module, language)}


def test_only_assembly_imports_what_a_language_means() -> None:
    found = {
        module: names
        for module in SOURCES
        if is_within(module, "ingress.translation") and module != SPEAKS_ALL
        if (names := imported(module, languages_of(module)))
    }
    assert found == {}
    assert imported(SPEAKS_ALL, LANGUAGES)


def test_a_language_may_import_itself_and_no_other() -> None:
    assert "ingress.translation.ingress" not in languages_of("ingress.translation.ingress.claiming")
    assert languages_of("ingress.translation.claims") == LANGUAGES


def test_only_the_language_of_ingresses_names_the_controller_whose_annotations_it_reads() -> None:
    named = {
        module
        for module, path in SOURCES.items()
        if is_within(module, "ingress.translation") and "nginx" in path.read_text(encoding="utf-8").lower()
    }
    assert {module for module in named if not is_within(module, "ingress.translation.ingress")} == set()
    assert named

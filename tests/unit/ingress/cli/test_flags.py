"""Options as they are declared: switches in all their forms, and help text in sections."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from ingress.cli.flags import Command, option, section, switch


@click.command(cls=Command)
@section("Food", option("--fruit", "-f", default="apple", help="Which."), switch("--peeled", help="Without peel."))
@section("Drink", switch("--tea", default=True, help="With tea."))
@option("--guest", also="GUEST", multiple=True, help="Who eats.")
@click.argument("place", default="kitchen")
def eat(**given: Any) -> None:
    """Eat something."""
    click.echo(repr(given))


def given(*arguments: str) -> dict[str, Any]:
    with eat.make_context("eat", list(arguments)) as context:
        return context.params


@pytest.mark.parametrize(
    ("arguments", "peeled", "tea"),
    [
        ((), False, True),
        (("--peeled", "--no-tea"), True, False),
        (("--no-peeled", "--tea"), False, True),
        (("--peeled=true", "--tea=false"), True, False),
        (("--peeled=1", "--tea=no"), True, False),
        (("--peeled=FALSE", "--tea=True"), False, True),
        (("--peeled", "--no-peeled"), False, True),
        (("--peeled=false", "--peeled"), True, True),
    ],
)
def test_a_switch_is_a_flag_with_an_opposite(arguments: tuple[str, ...], peeled: bool, tea: bool) -> None:
    told = given(*arguments)
    assert (told["peeled"], told["tea"]) == (peeled, tea)


@pytest.mark.parametrize("argument", ["--peeled=maybe", "--peeled=", "--no-peeled=true"])
def test_a_switch_takes_no_other_value(argument: str) -> None:
    with pytest.raises(click.BadOptionUsage, match="does not take a value"):
        given(argument)


def test_a_word_after_a_switch_is_not_its_value() -> None:
    assert given("--peeled", "true") == {"fruit": "apple", "peeled": True, "tea": True, "guest": (), "place": "true"}


def test_the_value_of_another_option_is_left_alone() -> None:
    assert given("--fruit=true")["fruit"] == "true"


@pytest.mark.parametrize(("word", "value"), [("true", True), ("1", True), ("false", False), ("no", False)])
def test_the_environment_has_the_words(monkeypatch: pytest.MonkeyPatch, word: str, value: bool) -> None:
    monkeypatch.setenv("ZONAL_PEELED", word)
    monkeypatch.setenv("ZONAL_TEA", word)
    assert (given()["peeled"], given()["tea"]) == (value, value)
    assert given("--no-peeled")["peeled"] is False


def test_a_second_variable_fills_what_the_first_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUEST", "ann")
    assert given()["guest"] == ("ann",)
    monkeypatch.setenv("ZONAL_GUEST", "bob")
    assert given()["guest"] == ("bob",)


def test_help_lists_options_by_section_in_the_order_of_declaration() -> None:
    lines = CliRunner().invoke(eat, ["--help"], terminal_width=100).output.splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Food:", "Drink:", "Options:"]
    names = [line.split()[0].rstrip(",") for line in lines if line.startswith("  -")]
    assert names == ["-f", "--peeled", "--tea", "--guest", "--help"]
    assert "ZONAL_PEELED" in "\n".join(lines)

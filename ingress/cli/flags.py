"""Declares options of the command line: environment variables, switches, and sections of the help text.

Also what is wrong with input, and values that several commands read. Does not know which options there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])
_Options = TypeVar("_Options")

# The words that click reads as booleans.
_TRUE = frozenset({"true", "1", "yes", "on", "t", "y"})
_FALSE = frozenset({"false", "0", "no", "off", "f", "n"})


class BadInput(Exception):
    """The user's input cannot work. The message is one line that says what to change."""


class WholeNumber(click.IntRange):
    """A whole number within bounds, called so in messages and help."""

    name = "whole number"


class _Option(click.Option):
    """An option with the section of the help text that lists it."""

    section = "Options"


class Command(click.Command):
    """A command whose help text lists options by section, and which also takes switches as `--name=true`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads `--name=true` as `--name` and `--name=false` as `--no-name`, because manifests for Kubernetes use the
        form of Go's flags.
        """
        switches = {param.opts[0] for param in self.params if isinstance(param, _Option) and param.secondary_opts}
        return super().parse_args(ctx, [_switched(argument, switches) for argument in args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options section by section, in the order of their declaration. Options without a section come
        last.
        """
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                section = param.section if isinstance(param, _Option) else _Option.section
                sections.setdefault(section, []).append(record)
        sections[_Option.section] = sections.pop(_Option.section)  # with --help, there is always one
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


def option(name: str, *more: str, also: str | None = None, **attributes: Any) -> Callable[[_F], _F]:
    """An option with its environment variable `ZONAL_<NAME>`; `also` names a second variable (the downward API's).

    `more` are other spellings of the option. `attributes` are those of `click.option`.
    """
    variable = "ZONAL_" + name.partition("/")[0].removeprefix("--").replace("-", "_").upper()
    return click.option(
        name,
        *more,
        cls=_Option,
        envvar=[variable, also] if also else variable,
        show_envvar=True,
        show_default=True,
        **attributes,
    )


def switch(name: str, *, default: bool = False, help: str) -> Callable[[_F], _F]:
    """An option that is true or false: `--name`, `--no-name`, or a boolean word in the environment variable."""
    return option(f"{name}/--no-{name.removeprefix('--')}", default=default, help=help)


def section(name: str, *options: Callable[[Any], Any]) -> Callable[[_F], _F]:
    """Declares `options` under the heading `name` of the help text."""

    def declare(function: _F) -> _F:
        for each in reversed(options):
            function = each(function)
            vars(function)["__click_params__"][-1].section = name
        return function

    return declare


def section_of(param: click.Parameter) -> str:
    """The heading under which the help text lists an option; empty for an argument."""
    return param.section if isinstance(param, _Option) else ""


def reference(name: str, value: str | None) -> str | None:
    """The value of the option `name`, which takes namespace/name; None for no value. Raises `BadInput`."""
    if not value:
        return None
    if value.count("/") != 1 or value.startswith("/") or value.endswith("/"):
        raise BadInput(f"{name} takes NAMESPACE/NAME")
    return value


def finish(run: Callable[[_Options], int], options: _Options, *, refusal: type[Exception]) -> NoReturn:
    """Ends the process with the status of `run(options)`. A `refusal` is bad input: its text says what to change."""
    try:
        status = run(options)
    except refusal as error:
        raise BadInput(str(error)) from None
    raise SystemExit(status)


def given_names(*names: str) -> tuple[str, ...]:
    """The options among `names` that the user gave. The others were left to their defaults."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    return tuple(name for name in names if context.get_parameter_source(name) is not default)


def _switched(argument: str, switches: set[str]) -> str:
    name, _, word = argument.partition("=")
    if name in switches and word.lower() in _TRUE:
        return name
    if name in switches and word.lower() in _FALSE:
        return f"--no-{name.removeprefix('--')}"
    return argument

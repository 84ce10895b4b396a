"""The options of a process have the defaults that the command line documents."""

from __future__ import annotations

import msgspec
import pytest

from ingress.cli import run
from ingress.options import ClusterAccess, RunOptions
from ingress.translation.context import TranslationContext

RENAMED = {
    "shutdown_grace_period": "shutdown_grace_seconds",
    "drain_timeout": "drain_timeout_seconds",
    "watch_namespace": "watch_namespaces",
}
"""Options whose field says the unit, or that there may be several."""

BEYOND_FIELDS = {"source", "workers"}
"""`source` has no default; of `workers` the default depends on the machine."""


def command_line_defaults() -> dict[str, object]:
    with run.make_context("run", []) as context:
        return {RENAMED.get(name, name): value for name, value in context.params.items()}


def test_every_option_has_its_field_with_the_same_default() -> None:
    fields = {
        field.name: field.default
        for record in (RunOptions, ClusterAccess, TranslationContext)
        for field in msgspec.structs.fields(record)
        if field.name not in ("source", "workers", "cluster", "context")
    }
    defaults = {name: value for name, value in command_line_defaults().items() if name not in BEYOND_FIELDS}
    assert defaults == fields


def test_options_do_not_change_while_running() -> None:
    with pytest.raises(AttributeError):
        TranslationContext().zone = "zone-a"  # type: ignore[misc]

"""Every option in the manifests is one of `zonal run`, with a value that it takes."""

from __future__ import annotations

import pytest

from ingress.cli.commands import cli
from tests.features.deploying.finding import container
from tests.features.deploying.rendering import CHOICES, Document, chart, manifests


@pytest.mark.parametrize("choice", ["manifests", *CHOICES])
def test_the_command_line_takes_every_argument(choice: str) -> None:
    objects: tuple[Document, ...] = manifests() if choice == "manifests" else chart(choice)
    command, *arguments = container(objects)["args"]
    assert cli.commands[command].make_context(command, arguments).params["source"] == "kubernetes"


@pytest.mark.parametrize("choice", ["manifests", *CHOICES])
def test_the_ports_are_those_that_the_options_default_to(choice: str) -> None:
    objects: tuple[Document, ...] = manifests() if choice == "manifests" else chart(choice)
    ports = {each["name"]: each["containerPort"] for each in container(objects)["ports"]}
    defaults = {each.name: each.default for each in cli.commands["run"].params}
    assert [ports[name] for name in ("http", "https", "admin")] == [
        defaults[f"{name}_port"] for name in ("http", "https", "admin")
    ]

"""The options of a process have the defaults that the command line documents."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ingress.cli.commands import run
from ingress.settings.context import TranslationContext
from ingress.settings.gateway_ports import read_gateway_ports
from ingress.settings.options import ClusterAccess, RunOptions, conflict_of

RENAMED = {
    "shutdown_grace_period": "shutdown_grace_seconds",
    "drain_timeout": "drain_timeout_seconds",
    "watch_namespace": "watch_namespaces",
    "publish_status_address": "publish_status_addresses",
    "peer": "peers",
}
"""Options whose field says the unit, or that there may be several."""

BEYOND_FIELDS = {
    *("source", "workers"),
    *("gateway_ports", "gateway_addresses", "gateway_external_ips", "gateway_aliases"),
}
"""`source` has no default; of `workers` the default depends on the machine; `gateway_ports` is a value of its own;
`gateway_addresses`, `gateway_external_ips` and `gateway_aliases` become `gateway_services`."""


BEYOND_OPTIONS = {
    *BEYOND_FIELDS,
    "cluster",
    "context",
    "can_export_spans",
    "names_secrets",
    "gateway_services",
    "tcp_ports",
}
"""Fields that no option of their own fills."""


def command_line_defaults() -> dict[str, object]:
    with run.make_context("run", []) as context:
        return {RENAMED.get(name, name): value for name, value in context.params.items()}


def test_every_option_has_its_field_with_the_same_default() -> None:
    fields = {
        field.name: field.default
        for record in (RunOptions, ClusterAccess, TranslationContext)
        for field in msgspec.structs.fields(record)
        if field.name not in BEYOND_OPTIONS
    }
    defaults = {name: value for name, value in command_line_defaults().items() if name not in BEYOND_FIELDS}
    assert defaults == fields
    assert read_gateway_ports(str(command_line_defaults()["gateway_ports"])) == RunOptions(source=FOLDER).gateway_ports


def test_options_do_not_change_while_running() -> None:
    with pytest.raises(AttributeError):
        TranslationContext().zone = "zone-a"  # type: ignore[misc]


FOLDER = Path("manifests")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (RunOptions(source=FOLDER, http_port=81, https_port=81), ["--http-port", "--https-port", "81"]),
        (RunOptions(source=FOLDER, http_port=81, admin_port=81), ["--http-port", "--admin-port", "81"]),
        (RunOptions(source=FOLDER, https_port=10254), ["--https-port", "--admin-port", "10254"]),
        (RunOptions(source=None, cluster=ClusterAccess(webhook_port=8443)), ["--https-port", "--webhook-port"]),
        (RunOptions(source=FOLDER, cluster=ClusterAccess(webhook_port=9443)), ["--webhook-port 9443", "--source"]),
        (RunOptions(source=FOLDER, peers=("a:1",)), ["--peer", "--peer-port"]),
        (RunOptions(source=FOLDER, peer_port=9443), ["--peer-port", "--peer-secret"]),
        (RunOptions(source=FOLDER, peer_port=8080, peer_secret=Path("s")), ["--http-port", "--peer-port"]),
    ],
)
def test_options_that_cannot_work_together_are_named(options: RunOptions, words: list[str]) -> None:
    conflict = conflict_of(options)
    assert conflict is not None
    assert all(word in conflict for word in words)
    assert "\n" not in conflict


@pytest.mark.parametrize(
    "options",
    [
        RunOptions(source=FOLDER),
        RunOptions(source=FOLDER, http_port=0, https_port=0, admin_port=0),
        RunOptions(source=None, cluster=ClusterAccess(webhook_port=9443)),
    ],
)
def test_ports_that_differ_and_free_ports_are_no_conflict(options: RunOptions) -> None:
    assert conflict_of(options) is None

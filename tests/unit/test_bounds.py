"""The table of bounds in docs/security.md knows every bound that tenants share, and its numbers are the code's."""

from __future__ import annotations

import importlib
import re
from functools import cache

import pytest

from tests.unit.sources import ROOT, SOURCES

SHARED = frozenset(
    ("FairShares", "FairCache", "Semaphore", "ThreadPoolExecutor", "fair_shares", "fairly_first", "fairly_held")
)
"""What divides or limits something that several tenants use."""

ROWS = {
    "balancer.connections.asking_contexts": "contexts that ask for client certificates",
    "balancer.connections.auth_services": "requests to auth services",
    "balancer.connections.endpoint_contexts": "authorities and certificates for endpoints",
    "balancer.connections.hook_threads": "threads that start and end processes of isolated hooks",
    "balancer.connections.isolated_hooks": "calls of isolated hooks under way",
    "balancer.connections.kept": "connections to endpoints",
    "balancer.connections.limit_stores": "questions to the store of limits",
    "balancer.connections.names": "look-ups of names for auth services",
    "balancer.connections.shown_contexts": "contexts that show a certificate",
    "balancer.logs.accesslog": "access log",
    "balancer.logs.tracing.outbox": "spans that wait for the collector",
    "balancer.matching.gates.external_auth.cache": "remembered answers of auth services",
    "balancer.matching.password_checks": "requests that wait for a password check",
    "balancer.metrics.slots": "series of metrics",
    "balancer.picking.budget": "retries over time",
    "balancer.picking.checking": "active checks",
    "balancer.picking.failing": "endpoints that fail, as replicas tell each other",
    "balancer.proxy.body_room": "bodies received first, and bodies kept for another try: memory",
    "balancer.proxy.hash_threads": "threads for passwords",
    "balancer.proxy.mirroring": "copies to mirrors",
    "balancer.relays.room": "bytes of streams",
    "balancer.workers.judging": "unhealthy endpoints in reports of a worker",
    "ingress.admin.pages": "pages of metrics",
    "ingress.following.finding_log": "log lines of findings",
    "ingress.following.telling": "log lines of Services that leave zonal mode",
    "ingress.replicas.recent": "names of which other replicas remember loads",
    "ingress.replicas.sharing": "failing backends whose zones replicas tell each other of",
    "ingress.replicas.zone_events": "zones that are left, as replicas tell each other",
    "ingress.replicas.spending": "clients of limits that replicas share",
    "ingress.sources.name_turns": "look-ups of `externalName`",
    "ingress.translation.gateway.hostname_room": "hostnames of routes on listeners",
    "ingress.translation.gateway.condition_bounds": "conditions of HTTPRoutes",
    "ingress.translation.ingress.hosts.expression_reading": "characters of all expressions",
    "ingress.translation.needs": "ConfigMaps that Ingresses",
    "ingress.translation.secrets.authority_shares": "authorities and revocation lists of clients",
    "ingress.webhook.port": "reviews that the webhook judges",
    "ingress.writing.notices": "Events that wait",
}
"""The row of each module, by how it begins."""

OF_ONE = {
    "balancer.workers.spawning": "one thread that starts processes for the parent",
    "ingress.cli.terminal.asking": "threads of a command in a terminal",
}
"""Modules whose bounds no tenant can fill, and why."""

NUMBERS = (
    ("calls of isolated hooks under way", "balancer.connections.isolated_hooks", "_PENDING_MOST"),
    ("processes of isolated hooks", "balancer.connections.hook_housing", "PROCESSES_MOST"),
    ("threads that start and end processes", "balancer.connections.hook_threads", "_THREADS_MOST"),
    ("questions to the store of limits", "balancer.connections.limit_stores", "_ASKED_MOST"),
    ("questions to the store of limits", "balancer.connections.limit_stores", "_CONNECTIONS_MOST"),
    ("contexts that show a certificate", "balancer.connections.shown_contexts", "_BYTES_MOST"),
    ("contexts that ask for client certificates", "balancer.connections.asking_contexts", "_CONTEXTS_BYTES"),
    ("authorities and revocation lists", "ingress.translation.secrets.material.bounds", "AUTHORITIES_TOGETHER_BYTES"),
    ("size of a chain", "ingress.translation.secrets.material.bounds", "CHAIN_BYTES"),
    ("size of a chain", "ingress.translation.secrets.material.bounds", "CHAIN_LENGTH"),
    ("remembered answers of auth services", "balancer.matching.gates.external_auth.cache", "_BYTES_MOST"),
    ("bodies received first, and bodies kept", "balancer.proxy.body_room", "MEMORY_BYTES_MOST"),
    ("bodies received first: files", "balancer.proxy.body_room", "FILE_BYTES_MOST"),
    ("bodies received first: open files", "balancer.proxy.body_room", "FILES_MOST"),
    ("copies to mirrors", "balancer.proxy.mirroring", "HELD_BYTES"),
    ("one search for a subject", "balancer.matching.regexes", "STEPS_MOST"),
    ("compiled patterns", "balancer.matching.regexes", "INSTRUCTIONS_MAX"),
    ("compiled patterns", "balancer.matching.regexes", "CHARACTERS_MAX"),
    ("values of a snippet", "balancer.matching.gates.script_texts", "BYTES_MOST"),
    ("values of a snippet", "ingress.settings.snippets.lexing", "_VARIABLES_MOST"),
    ("readings of one path", "balancer.matching.path_readings", "READINGS_MOST"),
    ("readings of one path", "balancer.matching.path_readings", "_BYTES_MOST"),
    ("characters of all expressions", "ingress.translation.ingress.hosts.expressions", "_CHARACTERS_MOST"),
    ("expressions of HTTPRoutes", "ingress.translation.gateway.expression_bounds", "CHARACTERS_MOST"),
    ("matches of a hostname", "ingress.translation.expression_costs", "_COMPARED_MOST"),
    ("path that is searched", "balancer.model.routes", "SEARCHED_BYTES_WIDE"),
    ("size of a ClientHello", "balancer.connections.clienthello", "HELLO_BYTES_MAX"),
    ("size of a ClientHello", "balancer.connections.clienthello", "RECORDS_MOST"),
    ("connections that are accepted in one turn", "balancer.connections.entrances", "_AT_ONCE"),
    ("connections that are accepted in one turn", "balancer.connections.entrances", "_DEAR_AT_ONCE"),
    ("connections that owe their ClientHello", "balancer.connections.entrances", "WAITING_MOST"),
    ("access log", "balancer.logs.accesslog", "_ALL_BYTES_MAX"),
    ("endpoints that fail", "balancer.picking.failing", "FAILING_MOST"),
    ("endpoints that fail", "ingress.replicas.messages", "FAILURES_MOST"),
    ("clients of limits that replicas share", "balancer.sharing.spending", "SPENDING_ROWS"),
    ("clients of limits that replicas share", "ingress.replicas.spending", "_CLIENTS_MOST"),
    ("names of which other replicas", "ingress.replicas.recent", "NAMES_MOST"),
    ("failing backends whose zones", "ingress.replicas.sharing", "_FAILING_BACKENDS_MOST"),
    ("zones that are left, as replicas", "ingress.replicas.messages", "LEFT_MOST"),
    ("log lines of Services that leave", "ingress.following.telling", "_A_TIME"),
    ("connections to the peers' port", "ingress.replicas.port", "_CONNECTIONS_MOST"),
    ("connections to the peers' port", "ingress.replicas.others", "REPLICAS_MOST"),
    ("unhealthy endpoints in reports", "balancer.workers.judging", "_UNWELL_MOST"),
    ("zones that are left, in reports", "balancer.workers.judging", "_ZONES_MOST"),
    ("hostnames of routes on listeners", "ingress.translation.gateway.attaching", "NAMES_MOST"),
    ("hostnames of routes on listeners", "ingress.translation.gateway.hostname_room", "NAMES_TOGETHER_MOST"),
    ("conditions of HTTPRoutes", "ingress.translation.gateway.condition_bounds", "CONDITIONS_MOST"),
    ("bound ports for Gateways", "ingress.settings.gateway_ports", "_PORTS_MOST"),
    ("bound ports for Gateways", "ingress.translation.gateway.own_ports", "_UNDIVIDED"),
    ("reviews that the webhook judges", "ingress.webhook.port", "CONCURRENT_REVIEWS"),
    ("reviews that the webhook judges", "ingress.webhook.port", "_ALL_REVIEWS"),
    ("ConfigMaps that Ingresses", "ingress.translation.needs", "_CONFIG_MAPS_MOST"),
    ("watches of Secrets", "ingress.translation.needs", "_SECRETS_MOST"),
    ("judging new keys", "ingress.following.translating", "JUDGED_MOST"),
    ("connections of the admin port", "ingress.admin.doors", "PORT_MOST"),
    ("pages of metrics", "ingress.admin.pages", "_SCRAPES_MOST"),
    ("pages of `/ui`", "ingress.admin.overview.viewers", "_VIEWERS_MOST"),
    ("findings of one object", "ingress.findings", "ALIKE_LIMIT"),
)
"""The beginning of a row, and a constant whose value the row names."""


UNITS = ((1024, "KiB"), (1024**2, "MiB"), (1024**3, "GiB"))


@cache
def rows() -> list[str]:
    text = (ROOT / "docs/security.md").read_text()
    begin = text.index("## What one tenant can cost another")
    return [
        line[2:]
        for line in text[begin : text.index("## What is not protected against")].split("\n")
        if line[:2] == "| "
    ]


def row_of(beginning: str) -> str:
    (found,) = [row for row in rows() if row.startswith(beginning)] or [""]
    assert found, f"no row of the table begins with {beginning!r}"
    return found


def makers() -> set[str]:
    """The modules that make or divide a shared bound."""
    call = re.compile(rf"(?<!class )\b(?:{'|'.join(SHARED)})(?:\[[\w, ]*\])?\(")
    found = {module for module, path in SOURCES.items() if call.search(path.read_text(encoding="utf-8"))}
    return found - {"ingress.translation.sharing"}


def test_every_shared_bound_has_a_row() -> None:
    assert makers() == ROWS.keys() | OF_ONE.keys()
    for beginning in ROWS.values():
        row_of(beginning)


@pytest.mark.parametrize(("beginning", "module", "name"), NUMBERS, ids=[f"{each[1]}.{each[2]}" for each in NUMBERS])
def test_the_table_names_the_numbers_of_the_code(beginning: str, module: str, name: str) -> None:
    value: int = getattr(importlib.import_module(module), name)
    told = [f"{value:,}", *(f"{value // unit} {word}" for unit, word in UNITS if value % unit == 0)]
    assert any(re.search(rf"(?<!\d)(?<!\d,){re.escape(each)}(?!,?\d)", row_of(beginning)) for each in told), told


def test_every_row_says_who_sees_what() -> None:
    for row in rows():
        assert row.count(" | ") == 5, row


_TEST = re.compile(r"`(tests/[\w/]+?(?:\.py|/))`")


def test_every_row_names_tests_that_exist() -> None:
    """Folders are named, too: one that is empty tests nothing."""
    for row in rows():
        if row.startswith(("what |", "---")):
            continue
        named = _TEST.findall(row.rsplit(" | ", 1)[1])
        assert named, row
        for each in named:
            place = ROOT / each
            found = [place] if place.suffix else sorted(place.glob("test_*.py"))
            assert any("def test_" in file.read_text() for file in found), f"{each}: {row}"

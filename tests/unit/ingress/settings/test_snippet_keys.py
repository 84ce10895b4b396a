"""Snippets of the ConfigMap: each is carried out as a whole, or is a finding that names the line."""

from __future__ import annotations

from balancer.model.scripts import FieldBeside, FieldChange
from ingress.findings import Findings, Severity, Subject
from ingress.settings.configmap import read_configmap
from ingress.settings.snippet_keys import cluster_levels
from ingress.settings.table.snippets import ClusterLevels, SnippetTexts


def test_each_snippet_counts_at_its_level() -> None:
    data = {
        "http-snippet": "add_header X-H 1;",
        "location-snippet": "more_set_headers 'X-L: 1';",
        "server-snippet": " ",
    }
    settings, findings = read_configmap(data)
    assert findings == ()
    assert settings.snippets.http.fields.beside == (FieldBeside("X-H", "1"),)
    assert settings.snippets.location.fields.changes == (FieldChange("X-L", "1"),)
    assert settings.snippets.server.is_empty


def test_a_line_that_is_not_carried_out_is_named_with_what_to_write_instead() -> None:
    findings = Findings()
    levels = cluster_levels(
        SnippetTexts(server="deny all;\nlocation /x { deny all; }", http="proxy_set_header X-A 1;"),
        findings.about(Subject("ConfigMap", "a", "b")),
    )
    assert levels.says_nothing
    assert levels.server == ClusterLevels().server
    lost, useless = sorted(findings.frozen(), key=lambda each: each.reason)
    assert (lost.reason, lost.severity) == ("NotSupported", Severity.UNPROTECTED)
    assert lost.message == (
        "server-snippet, line 2: location is not carried out. Instead, give the path an Ingress of its own, with"
        " annotations."
    )
    assert (useless.reason, useless.severity) == ("SnippetLineUseless", Severity.COSMETIC)

"""Reads the settings of the whole cluster: the ConfigMap that `--configmap` names, and what the process was told.

Responsible for what is reported if the ConfigMap is missing. Does not know what a setting means.
"""

from __future__ import annotations

import msgspec

from ingress.findings import Findings, Severity, Subject
from ingress.objects.kinds import Kind, subject_of
from ingress.settings.configmap import read_configmap
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.drains import note_drains_over
from ingress.translation.cluster.tracing import with_export


def cluster_settings(
    inventory: Inventory, context: TranslationContext, findings: Findings, *, now_epoch_seconds: float = 0.0
) -> ClusterSettings:
    """The settings as far as they are valid. Without the ConfigMap, all are the defaults.

    `now_epoch_seconds` decides which drains are told as over.
    """
    namespace, _, name = context.configmap.partition("/")
    config_map = inventory.config_map(namespace, name)
    if config_map is None:
        _note_missing_configmap(inventory, Subject(Kind.CONFIG_MAP.value, namespace, name), findings=findings)
        return ClusterSettings(passes_tls=context.enable_ssl_passthrough)
    settings, wrong = read_configmap(config_map.data, subject_of(config_map))
    findings.extend(wrong)
    report = findings.about(subject_of(config_map))
    if settings.zone_aware_routing:
        note_drains_over(settings.zone_facts.drains, report, now_epoch_seconds=now_epoch_seconds)
    settings = with_export(settings, report, can_export=context.can_export_spans)
    ports = {"http_port": context.http_port, "https_port": context.https_port}
    return msgspec.structs.replace(
        settings,
        redirects=msgspec.structs.replace(settings.redirects, **ports),
        passes_tls=context.enable_ssl_passthrough,
    )


def _note_missing_configmap(inventory: Inventory, subject: Subject, *, findings: Findings) -> None:
    """Notes a missing ConfigMap, unless its source has not reported yet, or has reported why it cannot be read."""
    said = ((finding.kind, finding.namespace, finding.name) for finding in inventory.findings)
    if not inventory.knows(Kind.CONFIG_MAP) or (subject.kind, subject.namespace, subject.name) in said:
        return
    findings.add(
        subject,
        reason="ConfigMapMissing",
        message=f"There is no ConfigMap {subject.namespace}/{subject.name}: create it, or name another by --configmap.",
        effect="Every setting has its default; zone-aware routing is off.",
        severity=Severity.DEGRADED,
    )

"""Settings of the cluster, read from the ConfigMap.

Responsible for what becomes of keys: those of the table are read, and those that zonal does not support are findings
or close every path. It must not know where the ConfigMap came from.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from balancer.logs.lineformats import unknown_variables
from ingress.findings import TO_BE_SERVED, Finding, Findings, Report, Severity, Subject, quote
from ingress.settings.near_names import suggestion
from ingress.settings.reading import read_options
from ingress.settings.snippet_keys import cluster_levels
from ingress.settings.table.cluster import ClusterSettings, cluster_settings
from ingress.settings.table.forwarding import check_forwarding
from ingress.settings.table.option import OptionSource
from ingress.settings.table.snippets import SnippetTexts
from ingress.settings.table.whole import CONFIGMAP_OPTIONS, INGRESS_OPTIONS
from ingress.settings.unsupported import UNSUPPORTED_ANNOTATIONS, Closes, Loss
from ingress.settings.unsupported_settings import SATISFIED_SETTINGS, UNSUPPORTED_SETTINGS

_NAMED_MOST = 5

CONFIG_MAP = Subject("ConfigMap", "", "")
"""The subject of findings if the caller names no ConfigMap."""


def read_configmap(
    data: Mapping[str, str], subject: Subject = CONFIG_MAP
) -> tuple[ClusterSettings, tuple[Finding, ...]]:
    """The settings in a ConfigMap's data, and what was wrong with it; `subject` is what the findings are about.

    Keys and defaults are those of the table of options; keys that ingress-nginx v1.15.1 has keep its defaults. An
    unknown key changes nothing and is a finding.
    """
    findings = Findings()
    report = findings.about(subject)
    reading = read_options(data, CONFIGMAP_OPTIONS, source=OptionSource.CONFIGMAP, report=report)
    settings = cluster_settings(reading.overrides)
    _check_ignored(settings, report)
    check_forwarding(reading.overrides, report)
    _check_names(settings, report)
    _check_log_format(settings.proxy.log.format, report)
    lost = [_Lost(value.option.name, value.loss, value.why, repair="correct it") for value in reading.refused]
    for key in data.keys() - CONFIGMAP_OPTIONS.keys():
        if (loss := UNSUPPORTED_SETTINGS.get(key)) is None:
            _note_unknown(key, report)
        elif loss.is_asked_for(data[key]):
            lost.append(_Lost(key, loss, f"{key} is an ingress-nginx key that zonal does not support"))
    closing = [each.key for each in lost if _closes(each, settings, report)]
    levels = msgspec.structs.replace(
        cluster_levels(reading.overrides.over(SnippetTexts()), report),
        underscores=settings.proxy.underscores_in_headers,
    )
    return msgspec.structs.replace(settings, closed=bool(closing), snippets=levels), findings.frozen()


class _Lost(msgspec.Struct, frozen=True):
    """A key that is not carried out. `why` is a clause such as "X is not known", `repair` what the operator can do."""

    key: str
    loss: Loss
    why: str
    repair: str = "remove it"


def _closes(lost: _Lost, settings: ClusterSettings, report: Report) -> bool:
    """Whether a key that is not carried out closes every path; in any case it gets the finding that it deserves."""
    loss, why = lost.loss, lost.why
    effect = f"Requests are served, but {loss.text}."
    if loss.closes is Closes.NOTHING:
        report.add(reason="NotSupported", message=f"{why}.", effect=effect, severity=loss.severity)
        return False
    if lost.key in settings.ignored_settings:
        message = f"{why}, and ignore-settings says to ignore it."
        report.add(reason="IgnoredByOperator", message=message, effect=effect, severity=loss.severity)
        return False
    report.add(
        reason="ClosedBySetting",
        message=f"{why}: without it, {loss.text}.{TO_BE_SERVED}{lost.repair}, or name it in ignore-settings.",
        effect="Every path of every Ingress answers 503, and so does the default backend.",
        severity=Severity.CLOSED,
    )
    return True


def _note_unknown(key: str, report: Report) -> None:
    if key in SATISFIED_SETTINGS:
        return
    report.add(
        reason="UnknownKey",
        message=f"{quote(key)} is not a key of this ConfigMap: correct or remove it.{suggestion(key, _KNOWN)}",
        effect="The key has no effect.",
        severity=Severity.DEGRADED,
    )


def _check_ignored(settings: ClusterSettings, report: Report) -> None:
    """Reports names to ignore that close nothing anyway, because their author probably meant others."""
    for key, ignored, known in (
        ("ignore-annotations", settings.ignored_annotations, _CLOSING_ANNOTATIONS),
        ("ignore-settings", settings.ignored_settings, _CLOSING),
    ):
        if useless := sorted(ignored - known):
            report.add(
                reason="UnknownKey",
                message=f"{key} lists {useless[0]}, which closes nothing: remove it.{suggestion(useless[0], known)}",
                effect="The name has no effect.",
                severity=Severity.COSMETIC,
            )


def _check_names(settings: ClusterSettings, report: Report) -> None:
    """Say which items of lists are no field names or statuses. The others count."""
    fields = settings.fields
    for key, skipped in (
        ("hide-headers", fields.hidden.skipped),
        ("global-allowed-response-headers", fields.allowed.skipped),
        ("custom-http-errors", settings.errors.pages.skipped),
    ):
        if skipped:
            wanted = "statuses from 300 to 599" if key == "custom-http-errors" else "at most 200 field names"
            report.add(
                reason="InvalidValue",
                message=f"{key} holds {quote(skipped[0])}: use {wanted}.",
                effect="It has no effect, and the rest of the list has.",
                severity=Severity.DEGRADED,
            )


def _check_log_format(text: str, report: Report) -> None:
    if unknown := unknown_variables(text):
        named = ", ".join(f"${name[:50]}" for name in unknown[:_NAMED_MOST])
        report.add(
            reason="InvalidValue",
            message=f"log-format-upstream holds {named}: zonal has no such variable, or never logs its value:"
            " take it out.",
            effect="The variables have no value in the access log.",
            severity=Severity.DEGRADED,
        )


def _closing(losses: Mapping[str, Loss]) -> set[str]:
    return {name for name, loss in losses.items() if loss.closes is not Closes.NOTHING}


_CLOSING = frozenset(
    {*_closing(UNSUPPORTED_SETTINGS), *(key for key, option in CONFIGMAP_OPTIONS.items() if option.closes)}
)
_CLOSING_ANNOTATIONS = frozenset(
    {*_closing(UNSUPPORTED_ANNOTATIONS), *(option.name for option in INGRESS_OPTIONS.values() if option.closes)}
)
_KNOWN = frozenset({*CONFIGMAP_OPTIONS, *UNSUPPORTED_SETTINGS})

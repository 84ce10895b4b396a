"""Reads which hooks an Ingress asks, with their settings, from its annotations."""

from __future__ import annotations

from balancer.model.hooks import HookRule
from ingress.findings import Report, Severity, quote
from ingress.objects.kinds import Ingress
from ingress.settings.hooks import RegisteredHook
from ingress.settings.table.hooks import HOOK_PREFIX
from ingress.translation.denying import deny
from ingress.translation.hooks import UNKNOWN, HookProblem, hook_rules
from ingress.translation.ingress.annotations import IngressOptions


def read_hooks(
    ingress: Ingress, options: IngressOptions, registered: tuple[RegisteredHook, ...], report: Report
) -> tuple[HookRule, ...]:
    """The hooks that an Ingress asks. Raises `Denied`, with a finding, if one of them cannot be asked."""
    settings = {
        name.removeprefix(HOOK_PREFIX): text
        for name, text in ingress.metadata.annotations.items()
        if name.startswith(HOOK_PREFIX)
    }
    names = options.hooks.names
    if names and options.canary:
        deny(report, "A canary asks no hooks of its own: give the annotation to the main Ingress.", reason=UNKNOWN)
    for name in sorted(settings.keys() - set(names)):
        report.add(
            reason="UnknownAnnotation",
            message=f"Annotation {quote(HOOK_PREFIX + name)} has the settings of a hook that is not asked:"
            " name the hook in zonal-ingress.io/hooks, or remove the annotation.",
            effect="The annotation has no effect.",
            severity=Severity.DEGRADED,
        )
    try:
        return hook_rules(names, settings, registered)
    except HookProblem as problem:
        deny(report, str(problem), reason=problem.reason)

"""Runs `zonal check`: reads a dump or a cluster, prints the verdicts, and decides the exit status.

Does not know flags.
"""

from __future__ import annotations

import asyncio
import time
from importlib.metadata import version
from pathlib import Path

import msgspec

from ingress.migration.baselines import Baseline, read_baseline
from ingress.migration.checking import check_dump
from ingress.migration.junit import as_junit
from ingress.migration.line_numbers import places_of
from ingress.migration.sarif import as_sarif
from ingress.migration.texts import as_json, as_text
from ingress.migration.verdicts import IngressOutcome, Review
from ingress.settings.context import TranslationContext
from ingress.sources.contract import CannotFollow
from ingress.sources.folder import FolderUnreadable

_CLUSTER_SECONDS = 30.0


class CannotCheck(Exception):
    """There is nothing to check. The text is one line that says what to change."""


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to check, a folder or file `source`, or else the cluster of `kubeconfig`, and how to say it.

    `context.ingress_class` is the class of the other controller. `form` is text, json, sarif or junit. The exit status
    is 1 from the verdict `fail_on` on; None: never. What `baseline`, the JSON of an earlier check, has does not count.
    `given` are fields of `context` that count before the arguments of a controller.
    """

    source: Path | None = None
    kubeconfig: Path | None = None
    context: TranslationContext = TranslationContext()
    form: str = "text"
    fail_on: IngressOutcome | None = IngressOutcome.UNPROTECTED
    baseline: Path | None = None
    given: tuple[str, ...] = ()


def run_check(options: CheckOptions) -> int:
    """Prints the verdicts. Returns the exit status: 1 if one is `fail_on` or worse. Raises `CannotCheck`."""
    found = _reviewed(options)
    if not found.ingresses and not found.routes:
        others = f"{found.of_other_classes} of others"
        usual = "name the class by --ingress-class" if found.of_other_classes else "there is no Ingress at all"
        why = next((finding.message for finding in found.others), usual)
        raise CannotCheck(f"there is no Ingress of class {options.context.ingress_class} ({others}): {why}")
    baseline = _baseline(options)
    print(_written(found, options, baseline))
    worst = found.worst if baseline is None else baseline.worst_since(found)
    return 1 if options.fail_on is not None and worst.harm >= options.fail_on.harm else 0


def _baseline(options: CheckOptions) -> Baseline | None:
    if options.baseline is None:
        return None
    try:
        return read_baseline(options.baseline.read_bytes())
    except (OSError, ValueError) as error:
        raise CannotCheck(f"--baseline {options.baseline}: {getattr(error, 'strerror', None) or error}") from None


def _reviewed(options: CheckOptions) -> Review:
    try:
        if options.source is not None:
            return check_dump(options.source, options.context, now_epoch_seconds=time.time(), given=options.given)
        if options.kubeconfig is not None:
            from ingress.migration.asking import check_cluster

            checking = check_cluster(options.kubeconfig, options.context, seconds=_CLUSTER_SECONDS, given=options.given)
            return asyncio.run(checking)
    except (CannotFollow, FolderUnreadable) as error:
        raise CannotCheck(str(error)) from None
    raise CannotCheck("what to check: give DIR, a folder of manifests or a dump, or --kubeconfig FILE, a cluster")


def _written(found: Review, options: CheckOptions, baseline: Baseline | None) -> str:
    match options.form:
        case "json":
            return as_json(found)
        case "sarif":
            lines = places_of(found, options.source) if options.source is not None else {}
            return as_sarif(found, version=version("zonal-ingress"), lines=lines, baseline=baseline)
        case "junit":
            return as_junit(found, fail_on=options.fail_on)
    return as_text(found)

"""Compares a check with an earlier one, so that only what is new or worse fails.

A baseline is what `zonal check -o json` has written. Does not know files.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ingress.findings import Finding
from ingress.migration.verdicts import IngressOutcome, Review, outcome_of, worst


class _Verdict(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    verdict: str


class _ConfigMapVerdict(msgspec.Struct, frozen=True):
    name: str
    verdict: str


class _Other(msgspec.Struct, frozen=True):
    kind: str
    namespace: str
    name: str
    reason: str


class Baseline(msgspec.Struct, frozen=True):
    """What an earlier check said. Fields as in its JSON."""

    ingresses: tuple[_Verdict, ...]
    config_map: _ConfigMapVerdict
    others: tuple[_Other, ...] = ()

    def had(self, namespace: str, name: str, verdict: IngressOutcome) -> bool:
        """Whether an Ingress had this verdict before, or a more harmful one."""
        before = {(each.namespace, each.name): IngressOutcome(each.verdict) for each in self.ingresses}
        return (namespace, name) in before and before[namespace, name].harm >= verdict.harm

    def worst_since(self, review: Review) -> IngressOutcome:
        """The most harmful outcome that is new or worse."""
        verdicts = [each.verdict for each in review.ingresses if not self.had(each.namespace, each.name, each.verdict)]
        config_map = review.config_map
        if config_map.name != self.config_map.name or config_map.verdict.harm > self._config_map_harm:
            verdicts.append(config_map.verdict)
        return worst([*verdicts, outcome_of(self._new(review.others))])

    @property
    def _config_map_harm(self) -> int:
        return IngressOutcome(self.config_map.verdict).harm

    def _new(self, others: Iterable[Finding]) -> Iterable[Finding]:
        before = {(each.kind, each.namespace, each.name, each.reason) for each in self.others}
        return (each for each in others if (each.kind, each.namespace, each.name, each.reason) not in before)


def read_baseline(data: bytes) -> Baseline:
    """The baseline in a file. Raises `ValueError` for other files."""
    try:
        found = msgspec.json.decode(data, type=Baseline)
        for verdict in (found.config_map.verdict, *(each.verdict for each in found.ingresses)):
            IngressOutcome(verdict)
    except (msgspec.DecodeError, ValueError):
        raise ValueError("is not what zonal check -o json has written") from None
    return found

"""Sums up what was foreseen for a request: its mode and reason, the shares of equal requests, and the pool.

Does not know who foresaw it, nor the sentences about it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from balancer.errors import ErrorKind
from balancer.explain.explanations import CandidateEndpoint, Explanation, Share, failing
from balancer.explain.foreseeing import Prospect
from balancer.picking.backend import BackendRuntime


def decided(told: Explanation, outcomes: tuple[Prospect, ...], runtime: BackendRuntime, *, live: bool) -> Explanation:
    """`told` with mode, reason, shares, pool and next endpoint, and with the error if no endpoint gets the request."""
    shares = _shares(outcomes)
    first = max(shares, key=lambda share: share.probability)
    likeliest = max(
        (each for each in outcomes if (_mode(each), _code(each)) == (first.mode, first.reason)),
        key=lambda each: each.probability,
    )
    pool = _pool(outcomes, runtime)
    zones = {candidate.zone for candidate in pool}
    tried_out = _largest((each.foretold.value, each.probability) for each in outcomes if each.foretold is not None)
    told = msgspec.structs.replace(
        told,
        mode=first.mode,
        reason=first.reason,
        pool=pool,
        endpoint=likeliest.coming.member.label if live and likeliest.coming is not None else None,
        to_zone=zones.pop() if len(zones) == 1 else None,
        shares=shares if len(shares) > 1 else msgspec.UNSET,
        dry_run_reason=tried_out or msgspec.UNSET,
        dry_run=_tried(outcomes) if tried_out else msgspec.UNSET,
    )
    failure = _failure(likeliest, runtime, live=live)
    return told if failure is None else failing(told, failure)


def _failure(likeliest: Prospect, runtime: BackendRuntime, *, live: bool) -> ErrorKind | None:
    """Why no endpoint gets the request, or None."""
    if live and runtime.is_full:
        return ErrorKind.OVERLOADED
    if likeliest.coming is not None:
        return None
    is_overload = likeliest.pools.general and likeliest.reason is None
    return ErrorKind.OVERLOADED if is_overload else ErrorKind.NO_ENDPOINT


def _tried(outcomes: tuple[Prospect, ...]) -> str:
    """What the policy of a dry run would change, without figures of traffic."""
    tried = [each for each in outcomes if each.foretold is not None]
    kept = sum(each.probability * each.kept for each in tried) / sum(each.probability for each in tried)
    return f"dry run: would keep {round(kept * 100, 1):g} % in the zone"


def _largest(shares: Iterable[tuple[str, float]]) -> str | None:
    """The name with the largest sum of shares, or None if there are none."""
    parts: dict[str, float] = {}
    for name, share in shares:
        parts[name] = parts.get(name, 0.0) + share
    return max(parts, key=lambda name: parts[name], default=None)


def _shares(outcomes: tuple[Prospect, ...]) -> tuple[Share, ...]:
    found: dict[tuple[str, str | None], float] = {}
    for each in outcomes:
        key = _mode(each), _code(each)
        found[key] = found.get(key, 0.0) + each.probability
    return tuple(Share(*key, probability=probability) for key, probability in found.items())


def _pool(outcomes: tuple[Prospect, ...], runtime: BackendRuntime) -> tuple[CandidateEndpoint, ...]:
    """Every endpoint that may be picked, by falling probability, ties in the order of the backend."""
    chances: dict[str, float] = {}
    for each in outcomes:
        for pick in each.picks:
            chances[pick.member.label] = chances.get(pick.member.label, 0.0) + each.probability / len(each.picks)
    candidates = [
        CandidateEndpoint(label, member.endpoint.zone, chances[label])
        for label, member in runtime.members.items()
        if label in chances
    ]
    return tuple(sorted(candidates, key=lambda candidate: -round(candidate.probability, 9)))


def _mode(outcome: Prospect) -> str:
    return "zonal" if outcome.pools.zonal_mode else "general"


def _code(outcome: Prospect) -> str | None:
    return outcome.reason.value if outcome.reason is not None else None

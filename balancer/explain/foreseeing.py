"""Foresees what the next request would get, without sending one: every outcome with its probability.

Asks the code that serves requests, in ways that take no turn. Does not know routes or words. Time is an argument.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import inf

import msgspec

from balancer.explain.asking import Question
from balancer.matching.destinations import Destination
from balancer.model.zones import ZonePolicy
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import Balancer
from balancer.picking.members import Member, Pick
from balancer.picking.plans import Chance
from balancer.picking.sessions import Session
from balancer.zones.locality import Locality
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools


class Prospect(msgspec.Struct, frozen=True, eq=False):
    """What a share of the requests gets: each of `picks` with equal probability, the most probable next one first.

    `reason` None: there is no pick, and not because of a policy. `pools` are those in force. `probe` is tried before
    the others. `held`: by a cookie or a hash. `foretold` is what the policy of a dry run would have decided, and `kept`
    the share of these requests that would have stayed in their zone.
    """

    probability: float
    reason: Reason | None
    pools: Pools
    picks: tuple[Pick, ...] = ()
    probe: Pick | None = None
    held: bool = False
    foretold: Reason | None = None
    kept: float = 0.0

    @property
    def coming(self) -> Pick | None:
        """The next pick."""
        return self.probe or (self.picks[0] if self.picks else None)


def foresee(
    runtime: BackendRuntime, policy: ZonePolicy | None, *, to: Destination, question: Question, now: float
) -> tuple[Prospect, ...]:
    """What requests like `question` get at `now`. The probabilities add up to 1."""
    found: list[Prospect] = []
    for chance in runtime.chances(policy, now):
        foretold, kept = _foretold(chance, now)
        if depends_on_client(to, question):
            held_somewhere = _held_somewhere(chance, runtime, foretold)
            found += [msgspec.structs.replace(each, kept=kept) for each in held_somewhere]
        elif held := _held(chance, runtime, to=to, question=question):
            found += _by_reason(chance, held)
        else:
            found.append(msgspec.structs.replace(_balanced(chance, now, foretold), kept=kept))
    return tuple(found)


def depends_on_client(to: Destination, question: Question) -> bool:
    """Whether a hash chooses the endpoint by the client's address, and the address is unknown."""
    text = to.hash_text
    if question.client or to.stickiness is not None or text is None:
        return False
    return text(question.request, "a") != text(question.request, "b")


class _Asked(Balancer):
    """Stands in for a balancer, to find out whether it would be asked."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance

    @property
    def pools(self) -> Pools:
        return self._chance.serving.pools

    @property
    def refusal(self) -> Reason | None:
        return self._chance.serving.refusal

    @property
    def tried_out(self) -> Pools | None:
        policy = self._chance.policy
        return None if policy is None else policy.pools

    def pick(self, tried: Collection[Member] = (), now: float = 0.0) -> Pick | None:
        return None


def _held(chance: Chance, runtime: BackendRuntime, *, to: Destination, question: Question) -> tuple[Pick, ...]:
    """The picks to which a cookie or a hash leads; empty if the balancer decides."""
    if not to.is_held:
        return ()
    session = Session(
        to,
        runtime=runtime,
        balancer=_Asked(chance),
        request=question.request,
        peer=question.client,
        new_key=lambda: b"",
        random_below=lambda _: 0,
    )
    # Before all time no probe is due, so none is taken.
    if to.stickiness is None and not chance.serving.pools.refuses:
        return session.hashed(-inf)
    pick = session.pick((), -inf)
    return () if pick is None else (pick,)


def _by_reason(chance: Chance, held: Sequence[Pick]) -> list[Prospect]:
    """The prospects of requests that are held to one of the picks `held`, one for each reason."""
    by_reason: dict[tuple[Reason, Reason | None], list[Pick]] = {}
    for pick in held:
        foretold = pick.foretold.reason if pick.foretold is not None else None
        by_reason.setdefault((pick.reason, foretold), []).append(pick)
    share, pools = chance.probability / len(held), chance.serving.pools
    return [
        Prospect(share * len(picks), reason, pools, tuple(picks), held=True, foretold=foretold, kept=_kept(picks))
        for (reason, foretold), picks in by_reason.items()
    ]


def _held_somewhere(chance: Chance, runtime: BackendRuntime, foretold: Reason | None) -> list[Prospect]:
    """The client's address decides and is unknown, so every endpoint is equally likely."""
    pools, standing = chance.serving.pools, runtime.standing()
    if pools.refuses:
        return [Prospect(chance.probability, chance.serving.refusal, pools, foretold=foretold)]
    every = [member for member in runtime.members.values() if member.endpoint in (*pools.general, *pools.drained)]
    well = [member for member in every if member.health.is_well] or every
    by_reason: dict[Reason, list[Pick]] = {}
    for pick in (standing.pick(member.label, pools) for member in well):
        by_reason.setdefault(pick.reason, []).append(pick)
    return [
        Prospect(chance.probability * len(picks) / len(well), reason, pools, tuple(picks), held=True, foretold=foretold)
        for reason, picks in by_reason.items()
    ]


def _balanced(chance: Chance, now: float, foretold: Reason | None) -> Prospect:
    outlook = chance.serving.outlook(now, leaves=chance.leaves, avoided=chance.avoided)
    reason = outlook.picks[0].reason if outlook.picks else chance.serving.refusal
    return Prospect(chance.probability, reason, outlook.pools, outlook.picks, probe=outlook.probe, foretold=foretold)


def _foretold(chance: Chance, now: float) -> tuple[Reason | None, float]:
    """What the policy of a dry run would have decided, and which share of the requests it would have kept."""
    if chance.policy is None:
        return None, 0.0
    picks = chance.policy.outlook(now).picks
    return (picks[0].reason, _kept(picks)) if picks else (chance.policy.refusal, 0.0)


def _kept(picks: Sequence[Pick]) -> float:
    """The share of picks that stay in the own zone."""
    return sum(pick.locality is Locality.LOCAL for pick in picks) / len(picks)

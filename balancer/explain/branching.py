"""Says which backend of its route a request is for: the main one, a canary, or what stands in for them. No I/O."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from balancer.explain.asking import Question
from balancer.explain.telling import branch_steps
from balancer.live import View
from balancer.matching.branches import Junction
from balancer.matching.destinations import Destination
from balancer.matching.served import Match, Served
from balancer.model.routes import ServiceName


class Branching(NamedTuple):
    """What serves a request.

    `to` is where the request goes, and `owners` are the branches whose objects decide so: the main branch, and the one
    that serves if it is another. `steps` are sentences.
    """

    to: Destination
    owners: tuple[Destination, ...]
    steps: list[str]


def branching_of(served: Served, question: Question, view: View) -> Branching:
    """The branch that the rules choose, else the branch with the largest share; the main branch wins ties."""
    main, junction = served.main, served.junction
    if (stand_in := _stand_in(served, view)) is not None:
        service = stand_in.branch.service.name
        sentence = f"Service {main.branch.service.name} has no endpoints, so {service} serves (default-backend)."
        return Branching(stand_in, (main,), [sentence])
    if junction is None:
        return Branching(main, (main,), [])
    chosen = _most_probable(junction, question, view)
    owners = (main,) if chosen is main else (main, chosen)
    return Branching(chosen, owners, branch_steps(junction, question.request, view, chosen=chosen))


def narrowed_match(match: Match, question: Question, view: View) -> tuple[Match, list[str]]:
    """What serves a request of a route whose branches have filters: the branch alone, which is chosen before gates are
    asked, and sentences about that. Any other match stays as it is.
    """
    fork = match.served.fork
    if fork is None:
        return match, []
    if fork.junction is None:
        return Match(fork.main, match.captures), []
    chosen = _most_probable(fork.junction, question, view)
    steps = branch_steps(fork.junction, question.request, view, chosen=chosen)
    return Match(fork.leading_to(chosen), match.captures), steps


def _most_probable(junction: Junction, question: Question, view: View) -> Destination:
    chances = junction.chances(question.request, has_endpoints=view.has_endpoints)
    return max(chances, key=lambda chance: (chance[0], chance[1] is junction.main))[1]


def _stand_in(served: Served, view: View) -> Destination | None:
    """What serves instead of the main branch, with the name of its Service."""
    stand_ins = served.stand_ins
    stand_in = stand_ins.instead_of(served.main, view.has_endpoints) if stand_ins is not None else None
    if stand_in is None or stand_in.backend is None:
        return None
    backend = view.backends[stand_in.backend].backend
    named = ServiceName(backend.namespace, backend.service)
    return Destination(stand_in.route, msgspec.structs.replace(stand_in.branch, service=named))

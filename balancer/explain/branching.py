"""Says which backend of its route a request is for: the main one, a canary, or what stands in for them. No I/O."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from balancer.explain.asking import Question
from balancer.explain.telling import branch_steps
from balancer.live import View
from balancer.matching.branches import Branch
from balancer.matching.served import Served
from balancer.model.routes import Route


class Branching(NamedTuple):
    """What serves a request.

    `branch` is the branch of the route if it has branches. `route` leads to the backend that serves, and `owners` are
    the routes whose objects decide so: that of the request, and that of a canary. `steps` are sentences.
    """

    branch: Branch | None
    route: Route
    owners: tuple[Route, ...]
    steps: list[str]


def branching_of(served: Served, question: Question, view: View) -> Branching:
    """The branch that the rules choose, else the branch with the largest share; the main branch wins ties."""
    route, junction = served.route, served.junction
    if (stand_in := _stand_in(served, view)) is not None:
        sentence = f"Service {route.service} has no endpoints, so {stand_in.service} serves (default-backend)."
        return Branching(None, stand_in, (route,), [sentence])
    if junction is None:
        return Branching(None, route, (route,), [])
    chances = junction.chances(question.request, has_endpoints=view.has_endpoints)
    chosen = max(chances, key=lambda chance: (chance[0], chance[1] is junction.main))[1]
    owners = (route,) if chosen.route is route else (route, chosen.route)
    return Branching(chosen, chosen.route, owners, branch_steps(junction, question.request, view, chosen=chosen))


def _stand_in(served: Served, view: View) -> Route | None:
    """The route to what serves instead of the route's own backend, with the name of its Service."""
    stand_ins = served.stand_ins
    stand_in = stand_ins.instead_of(served.route, view.has_endpoints) if stand_ins is not None else None
    if stand_in is None or stand_in.backend is None:
        return None
    return msgspec.structs.replace(stand_in, service=view.backends[stand_in.backend].backend.service)

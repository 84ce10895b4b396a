"""A branch of a route with what requests need of it, made at the swap."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from balancer.http.streams import Outgoing
from balancer.matching.affinity import Stickiness
from balancer.matching.editing import editors_of
from balancer.matching.request_edits import request_editor_of
from balancer.matching.variables import TextOf, compile_text
from balancer.model.endpoints import BackendKey
from balancer.model.routes import Branch, Route
from balancer.model.zones import ZonePolicy

_TEXTS_REMEMBERED: Final = 4096  # names of Kubernetes, and keys made of three


class DestinationNames(NamedTuple):
    """How metrics, lines and fields call a destination. `port` is that of the Service, empty without a backend."""

    namespace: str
    ingress: str
    service: str
    port: str


class PathCount:
    """Where requests of one route count: under `host_name` of the model (empty: every host), in a slot of the counters,
    -1 before the first of them, and the overflow slot where there was no room for the route.
    """

    __slots__ = ("host_name", "slot")

    def __init__(self, host_name: str = "") -> None:
        self.host_name = host_name
        self.slot = -1


Slots = tuple[int, int, int, int, int, int, int, int, int, int]


class DestinationNote:
    """A cache of metrics and log lines for the next request to a destination. Matching does not read it.

    `names` is the part of a line with all names but the port, `port` the one with it; both are empty before the first
    line. The last request counted in `slots`. They hold for `status` (0 before the first request), `from_zone`, and
    picks in `to_zone` with `locality` and `reason`.
    """

    __slots__ = ("from_zone", "locality", "names", "port", "reason", "slots", "status", "to_zone")

    def __init__(self) -> None:
        self.names = ""
        self.port = ""
        self.status = 0
        self.from_zone = ""
        self.to_zone = ""
        self.locality: object | None = None
        self.reason: object | None = None
        self.slots: Slots = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class Destination:
    """Where requests go: a branch of `route`, all of whose branches have one `count`.

    `backend` None: they get the error of the branch. `names` are those under which they count, `tenant` is the
    namespace whose bounds they fill. `stickiness` and `hash_text` say which endpoint they are held to; `is_held`: one
    of the two does. `subset` is to how many endpoints the hash leads. `request_editor` edits what endpoints get, None:
    nothing does. `editors` change the responses of this destination alone; `is_edited`: there is one of these.
    `is_bounded`: the policy bounds the rate of bodies, or the time of requests or attempts.
    """

    __slots__ = (
        "backend",
        "branch",
        "count",
        "editors",
        "hash_text",
        "is_bounded",
        "is_edited",
        "is_held",
        "names",
        "note",
        "policy",
        "request_editor",
        "route",
        "stickiness",
        "subset",
        "tenant",
        "zone_policy",
    )

    def __init__(self, route: Route, branch: Branch, count: PathCount | None = None) -> None:
        self.route = route
        self.count = PathCount() if count is None else count
        self.branch = branch
        policy = route.policy
        self.policy = policy
        self.is_bounded = bool(policy.body_rate or policy.request_seconds or policy.attempt_seconds)
        self.backend = None if branch.backend is None else BackendKey(_one_of_equal_texts(branch.backend))
        self.zone_policy = branch.zone_policy
        self.names = names_of(branch)
        self.note = DestinationNote()
        self.tenant = route.owner.namespace
        self.stickiness = _stickiness(branch)
        self.hash_text = _hash_text(branch)
        self.subset = branch.hash_subset
        self.request_editor = request_editor_of((*route.request_edits, *branch.request_edits))
        self.editors = editors_of(branch.response_rules)
        self.is_edited = self.request_editor is not None or bool(self.editors)
        self.is_held = self.stickiness is not None or self.hash_text is not None

    def steered(self, zone_policy: ZonePolicy | None, hash_text: TextOf | None) -> Destination:
        """This destination for one request, under another zone policy and held by another text. None keeps either."""
        made = Destination.__new__(Destination)
        for name in Destination.__slots__:
            setattr(made, name, getattr(self, name))
        if zone_policy is not None:
            made.zone_policy = zone_policy
        if hash_text is not None and self.backend is not None:
            made.stickiness = None
            made.hash_text = hash_text
            made.is_held = True
        return made

    def edit(self, outgoing: Outgoing) -> None:
        """Edits the fields that the endpoint gets."""
        editor = self.request_editor
        if editor is not None:
            editor.put_on(outgoing)


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def _one_of_equal_texts(text: str) -> str:
    """One object for equal namespaces, Services or backends: many hosts name it, and every request reads it."""
    return text


def names_of(branch: Branch) -> DestinationNames:
    """The namespace is that of the Service. An owner in another namespace has the namespace before the name."""
    owner, service = branch.owner, branch.service
    is_own = owner.namespace == service.namespace or not owner.name
    port = (branch.backend or "").rpartition(":")[2]
    namespace, name = _one_of_equal_texts(service.namespace), _one_of_equal_texts(service.name)
    return DestinationNames(namespace, owner.name if is_own else owner.full_name, name, port)


def instead(route: Route, backend: BackendKey | None) -> Destination | None:
    """A destination of `route` at another backend, whose endpoints are chosen by that backend's own rules."""
    if backend is None:
        return None
    main = route.main
    return Destination(route, Branch(backend, main.owner, main.service))


def _stickiness(branch: Branch) -> Stickiness | None:
    if branch.affinity is None or branch.backend is None:
        return None
    return Stickiness(branch.affinity, branch.backend)


def _hash_text(branch: Branch) -> TextOf | None:
    return compile_text(branch.hash_by) if branch.hash_by and branch.backend is not None else None

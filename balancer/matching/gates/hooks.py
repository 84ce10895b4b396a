"""Hooks of the operator as gates: what a hook is asked, and what its verdict means for the request.

Who calls the code of a hook stands behind an interface, because it may run in another process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from balancer.errors import ErrorKind
from balancer.http.messages import Fields
from balancer.matching.destinations import Destination
from balancer.matching.gates.leading import onward_target
from balancer.matching.gates.verdicts import PASSED, About, Asked, Deny, Gate, Go, Reply, Resume, Waiting
from balancer.matching.gates.verdicts import Verdict as GateVerdict
from balancer.model.hooks import HookPhase, HookRule
from balancer.model.zones import ZonePolicy, ZonePolicyName
from zonal_hooks.messages import NO_CHOICE, Choice, Message, Request
from zonal_hooks.verdicts import PASSED as HOOK_PASSED
from zonal_hooks.verdicts import Denied, Failed, Passed, Replied, Verdict

_NO_NAMES: Final[frozenset[bytes]] = frozenset()
_VERDICTS: Final = (Passed, Denied, Replied, Failed)
_POLICIES = {name.value: ZonePolicy(name) for name in (ZonePolicyName.OFF, ZonePolicyName.PREFER_ZONE)}


class HookCaller(Protocol):
    """Calls one hook with the settings of one route. It bounds the time of each call."""

    def call(self, phase: str, message: Message, tell: Callable[[Verdict], None]) -> Verdict | Waiting:
        """The verdict, or what is waited for: then `tell` is called later, never before this call returns."""


class HookScene:
    """What hooks learn and leave behind about one request, beside the verdicts of gates.

    `removed` are names in lower case that hooks took away or set, `body` is the whole body if a hook asks for it,
    `choice` is what `pick` hooks chose, and `answered_by` the hook that answered. `route` is the object whose rules
    hold, as namespace and name.
    """

    __slots__ = ("answered_by", "body", "choice", "removed", "route")

    def __init__(self, route: str = "") -> None:
        self.route = route
        self.removed = _NO_NAMES
        self.body: bytes | None = None
        self.choice: Choice = NO_CHOICE
        self.answered_by = ""


class HookAsked(Asked):
    """A request at the hooks of its route."""

    scene: HookScene


def asked_with(asked: Asked, scene: HookScene) -> HookAsked:
    """`asked` for hooks, which leave behind what they say in `scene`."""
    made = HookAsked(*asked)
    made.scene = scene
    return made


class HookGate:
    """The hook of one route. `phases` are its functions by name."""

    __slots__ = ("_about", "_before", "caller", "name", "phases")

    def __init__(self, rule: HookRule, caller: HookCaller) -> None:
        self.name = rule.name
        self.caller = caller
        self.phases = {each.name: each for each in rule.phases}
        self._before = tuple(self.phases[name] for name in ("request", "pick") if name in self.phases)
        self._about = about_hook(rule)

    @property
    def takes_body(self) -> bool:
        """Whether the body of a request is received before the hook is asked."""
        return any(each.takes_body for each in self._before)

    def describe(self) -> About:
        """Which hook is asked. Only an explanation that asks for hooks runs it."""
        return self._about

    def judge(self, asked: Asked, resume: Resume) -> GateVerdict | Waiting:
        """What the hook says before an endpoint is picked."""
        if not self._before:
            return PASSED
        scene = asked.scene if isinstance(asked, HookAsked) else HookScene()
        return _HookTurn(self, self._before, asked, scene, resume).go_on()


def about_hook(rule: HookRule) -> About:
    """What an explanation says of a hook that it does not run."""
    return About((f"Hook {rule.name} is asked. It is not run here, so the request is taken to pass.",))


class _HookTurn:
    """The calls of one hook about one request. It is what is waited for while a call waits."""

    __slots__ = ("_added", "_asked", "_at", "_calling", "_gate", "_phases", "_removed", "_resume", "_scene")

    def __init__(
        self, gate: HookGate, phases: tuple[HookPhase, ...], asked: Asked, scene: HookScene, resume: Resume
    ) -> None:
        self._gate = gate
        self._phases = phases
        self._asked = asked
        self._scene = scene
        self._resume = resume
        self._at = 0
        self._added: Fields = ()
        self._removed = _NO_NAMES
        self._calling: Waiting | None = None

    def go_on(self) -> GateVerdict | Waiting:
        """Calls what is left of the hook, until it answers, waits, or lets the request pass."""
        caller, phases = self._gate.caller, self._phases
        while self._at < len(phases):
            phase = phases[self._at]
            self._at += 1
            message = request_of(self._asked, self._scene, self._removed, self._added)
            if phase.name == "pick":
                message.allow_choice()
            told = caller.call(phase.name, message, self._heard)
            if told is HOOK_PASSED:
                continue
            if not isinstance(told, _VERDICTS):
                self._calling = told
                return self
            answer = self._take(phase, told)
            if answer is not None:
                return answer
        if not self._added and not self._removed:
            return PASSED
        return Go(self._added, self._removed)

    def cancel(self) -> None:
        """The client has left."""
        calling = self._calling
        self._calling = None
        if calling is not None:
            calling.cancel()

    def _heard(self, verdict: Verdict) -> None:
        if self._calling is None:
            return
        self._calling = None
        answer: GateVerdict | Waiting | None = self._take(self._phases[self._at - 1], verdict)
        if answer is None:
            answer = self.go_on()
        if isinstance(answer, Go | Deny | Reply):
            self._resume(answer)

    def _take(self, phase: HookPhase, verdict: Verdict) -> Deny | Reply | None:
        """Takes the verdict of one call. None: the request goes on."""
        if isinstance(verdict, Passed):
            (removed, added), choice = verdict.edits, verdict.choice
            if self._added and removed:
                self._added = tuple(field for field in self._added if field[0].lower() not in removed)
            self._added += added
            self._removed = self._removed | removed if self._removed else removed
            if choice is not NO_CHOICE:
                self._scene.choice = merged(self._scene.choice, choice)
            return None
        if isinstance(verdict, Failed) and phase.passes_on_error:
            return None
        self._scene.answered_by = self._gate.name
        return answer_of(verdict)


def answer_of(verdict: Verdict) -> Deny | Reply:
    """How the request is answered if a hook answers or has failed."""
    if isinstance(verdict, Denied):
        return Reply(verdict.status, kind=ErrorKind.HOOK_DENIED)
    if isinstance(verdict, Passed | Failed):
        return Deny(ErrorKind.HOOK_FAILED)
    return Reply(verdict.status, verdict.fields, verdict.body)


def merged(first: Choice, second: Choice) -> Choice:
    """What two hooks choose; the second one has the last word."""
    return first._replace(**{name: value for name, value in second._asdict().items() if value is not None})


def request_of(asked: Asked, scene: HookScene, removed: frozenset[bytes] = _NO_NAMES, added: Fields = ()) -> Request:
    """The request as a hook sees it: with what earlier gates and hooks have changed."""
    request, origin = asked.request, asked.origin
    fields = request.fields
    if removed or scene.removed:
        gone = removed | scene.removed
        fields = tuple(field for field in fields if field[0] not in gone)
    if added or asked.added:
        fields += tuple(
            (name.lower(), value)
            for name, value in (*(field for field in asked.added if field[0].lower() not in removed), *added)
        )
    return Request(
        request.method,
        origin.host or request.authority,
        request.path,
        onward_target(request),
        fields,
        origin.peer,
        origin.https,
        asked.request_id,
        scene.route,
        scene.body,
    )


class RouteHooks(NamedTuple):
    """The hooks of a route, in their order: `gates` judge requests, and `responses` see responses."""

    gates: tuple[Gate, ...]
    responses: tuple[HookGate, ...]
    takes_body: bool


def route_hooks(gates: tuple[Gate, ...]) -> RouteHooks:
    """The hooks whose gates these are. A gate that stands for a hook which cannot be called refuses requests."""
    hooks = tuple(gate for gate in gates if isinstance(gate, HookGate))
    responses = tuple(gate for gate in hooks if "response" in gate.phases)
    return RouteHooks(gates, responses, any(gate.takes_body for gate in hooks))


def steered_by(to: Destination, choice: Choice) -> Destination:
    """`to` for one request, as `pick` hooks say."""
    if choice is NO_CHOICE:
        return to
    policy = None if choice.zone_policy is None else _POLICIES[choice.zone_policy]
    if choice.affinity_key is None:
        return to.steered(policy, None)
    key = choice.affinity_key.encode("utf-8", "surrogatepass")
    return to.steered(policy, lambda _request, _peer: key)

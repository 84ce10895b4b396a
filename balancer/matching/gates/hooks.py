"""Hooks of the operator as gates: what a hook is asked, and what its verdict means for the request.

Who calls the code of a hook stands behind an interface, because it may run in another process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

import msgspec

from balancer.errors import ErrorKind
from balancer.http.messages import Fields
from balancer.matching.destinations import Destination
from balancer.matching.gates.leading import onward_target
from balancer.matching.gates.verdicts import PASSED, About, Asked, Deny, Gate, Go, Reply, Resume, Waiting
from balancer.model.hooks import HookRule
from balancer.model.zones import ZonePolicy, ZonePolicyName
from zonal_hooks.messages import NO_CHOICE, Choice, Message, Request
from zonal_hooks.verdicts import PASSED as HOOK_PASSED
from zonal_hooks.verdicts import Denied, Failed, Passed, Replied, Verdict

_NO_NAMES: Final[frozenset[bytes]] = frozenset()
VERDICTS: Final = (Passed, Denied, Replied, Failed)
"""All that a call may come to at once."""

_POLICIES = {name.value: ZonePolicy(name) for name in (ZonePolicyName.OFF, ZonePolicyName.PREFER_ZONE)}


class HookCall(Waiting, Protocol):
    """A call of a hook whose verdict has not come yet."""

    def tell_to(self, tell: Callable[[Verdict], None]) -> None:
        """Makes the call give its verdict to `tell`, once, after this has returned. A cancelled call gives none."""


class HookCaller(Protocol):
    """Calls one hook with the settings of one route. It bounds the time of each call."""

    def call(self, phase: str, message: Message) -> Verdict | HookCall:
        """The verdict, or what is waited for."""


class HookScene(msgspec.Struct, eq=False):
    """What hooks learn and leave behind about one request, beside the verdicts of gates.

    `route` is the object whose rules hold, as namespace and name. `said` is what gates and hooks have changed so far,
    and `removed` are names in lower case that hooks took away or set. `body` is the whole body if a hook asks for it,
    `choice` is what `pick` hooks chose, and `answered_by` the hook that answered.
    """

    route: str = ""
    said: Go = PASSED
    removed: frozenset[bytes] = _NO_NAMES
    body: bytes | None = None
    choice: Choice = NO_CHOICE
    answered_by: str = ""

    def take(self, verdict: Go) -> None:
        """Takes what a hook changes. It may set fields that earlier gates and hooks have added."""
        self.said = changed(self.said, verdict.removed, verdict.added)
        self.removed = self.removed | verdict.removed if self.removed else verdict.removed


class HookAsked(Asked, frozen=True, kw_only=True):
    """A request at the gates and hooks of its route."""

    scene: HookScene


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

    def judge(self, asked: Asked, resume: Resume, at: int = 0, said: Go = PASSED) -> Go | Deny | Reply | HookTurn:
        """What the hook says before an endpoint is picked.

        Calls the functions from place `at` on, until one answers or waits. `said` is what those before changed.
        """
        scene = asked.scene if type(asked) is HookAsked else HookScene()
        before, caller = self._before, self.caller
        while at < len(before):
            phase = before[at]
            message = request_of(asked, scene, said)
            if phase.name == "pick":
                message.allow_choice()
            told = caller.call(phase.name, message)
            at += 1
            if told is HOOK_PASSED:
                continue
            if type(told) is Passed and said is PASSED and told.choice is NO_CHOICE:
                said = Go(told.edits.added, told.edits.removed)  # as nearly always
                continue
            if not isinstance(told, VERDICTS):
                return HookTurn(self, asked, scene, resume, at, said, told)
            heard = self.hear(at, told, scene, said)
            if not isinstance(heard, Go):
                return heard
            said = heard
        return said

    def hear(self, at: int, verdict: Verdict, scene: HookScene, said: Go) -> Go | Deny | Reply:
        """What the request gets for the verdict of the function before place `at`. `Go`: all changes so far."""
        if isinstance(verdict, Passed):
            if verdict.choice is not NO_CHOICE:
                scene.choice = merged(scene.choice, verdict.choice)
            return changed(said, verdict.edits.removed, verdict.edits.added)
        if isinstance(verdict, Failed) and self._before[at - 1].passes_on_error:
            return said
        scene.answered_by = self.name
        return answer_of(verdict)


class HookTurn:
    """The call of a hook that one request waits for. `at` is the place of the function that comes after it."""

    __slots__ = ("_asked", "_at", "_calling", "_gate", "_resume", "_said", "_scene")

    def __init__(  # noqa: PLR0917 -- the state of `HookGate.judge`
        self, gate: HookGate, asked: Asked, scene: HookScene, resume: Resume, at: int, said: Go, calling: HookCall
    ) -> None:
        self._gate = gate
        self._asked = asked
        self._scene = scene
        self._resume = resume
        self._at = at
        self._said = said
        self._calling: Waiting | None = calling
        calling.tell_to(self._heard)

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
        gate, scene, at = self._gate, self._scene, self._at
        heard: Go | Deny | Reply | HookTurn = gate.hear(at, verdict, scene, self._said)
        if isinstance(heard, Go):
            heard = gate.judge(self._asked, self._resume, at, heard)
        if isinstance(heard, HookTurn):
            self._calling = heard  # which resumes
        else:
            self._resume(heard)


def about_hook(rule: HookRule) -> About:
    """What an explanation says of a hook that it does not run."""
    return About((f"Hook {rule.name} is asked. It is not run here, so the request is taken to pass.",))


def answer_of(verdict: Verdict) -> Deny | Reply:
    """The answer to a request for which a hook has answered or failed."""
    if isinstance(verdict, Denied):
        return Reply(verdict.status, kind=ErrorKind.HOOK_DENIED)
    if isinstance(verdict, Passed | Failed):
        return Deny(ErrorKind.HOOK_FAILED)
    return Reply(verdict.status, verdict.fields, verdict.body)


def changed(said: Go, removed: frozenset[bytes], added: Fields) -> Go:
    """`said` with the edits of a hook after it. `removed` are names in lower case, also of fields in `said`."""
    if said is PASSED:
        return Go(added, removed) if added or removed else PASSED
    kept = tuple(field for field in said.added if field[0].lower() not in removed)
    return Go(kept + added, said.removed | removed, said.editors)


def merged(first: Choice, second: Choice) -> Choice:
    """What two hooks choose; the second one has the last word."""
    return first._replace(**{name: value for name, value in second._asdict().items() if value is not None})


def request_of(asked: Asked, scene: HookScene, said: Go = PASSED) -> Request:
    """The request as a hook sees it: with what earlier gates and hooks have changed, and the hook itself (`said`)."""
    request, origin = asked.request, asked.origin
    fields, before = request.fields, scene.said
    if said is not PASSED:
        before = changed(before, said.removed, said.added)
    if before is not PASSED:
        fields = tuple(field for field in fields if field[0] not in before.removed)
        fields += tuple((name.lower(), value) for name, value in before.added)
    return Request(
        fields,
        request.method,
        origin.host or request.authority,
        request.path,
        onward_target(request),
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

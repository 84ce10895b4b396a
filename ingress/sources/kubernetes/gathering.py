"""Turns the reports of reflectors about scopes into events about whole kinds.

Decides when a kind counts as delivered and which objects are kept. Makes findings about scopes. Does not know how a
scope is followed, nor what its objects are used for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from ingress.findings import Findings, Severity, Subject
from ingress.objects.kinds import OPTIONAL_KINDS, Kind, KubernetesObject, key_of
from ingress.sources.events import Event, Removed, Replaced, SourceFindings, Upserted
from ingress.sources.inventory import REQUIRED_KINDS
from ingress.sources.kubernetes.decoding import Identity, Unreadable
from ingress.sources.kubernetes.patience import Place
from ingress.sources.kubernetes.resources import RESOURCES, Scope
from ingress.sources.kubernetes.scope_events import (
    Condition,
    ScopeEvent,
    ScopeRemoved,
    ScopeReplaced,
    ScopeState,
    ScopeUnreadable,
    ScopeUpserted,
)

SOURCE = "kubernetes"
"""The name of this source in its `SourceFindings`."""

_Key = tuple[str, str]

# These kinds are followed in part or object by object, so no list is complete.
_PIECEMEAL = frozenset({Kind.NODE, Kind.SECRET})
_ANSWERS = frozenset({Condition.FORBIDDEN, Condition.MISSING})
_EFFECTS = {
    Kind.NODE: "Endpoints whose zone only their Node names have no known zone.",
    Kind.SECRET: "Hosts whose certificate zonal has not read get the default certificate.",
    Kind.CONFIG_MAP: "Every setting that zonal has not read has its default.",
    **dict.fromkeys(OPTIONAL_KINDS, "Gateways and routes are judged as if there were none of this kind."),
}
_SEVERITIES = {
    Kind.NODE: Severity.DEGRADED,
    Kind.SECRET: Severity.DEGRADED,
    # The ConfigMap may contain settings that protect the whole cluster.
    Kind.CONFIG_MAP: Severity.UNPROTECTED,
    # These policies ask for TLS to backends.
    Kind.BACKEND_TLS_POLICY: Severity.UNPROTECTED,
}
_UNREAD_EFFECT = "zonal serves nothing before the first list."
_READ_EFFECT = "zonal uses what it read last, and learns of no change."
_OF_THE_WHOLE = frozenset({Condition.UNREACHABLE, Condition.REJECTED})
"""Conditions that nearly always concern every scope at once, so they are one finding of what was read before."""
_SAID_OF_THE_WHOLE = {
    Condition.UNREACHABLE: "The API server does not answer, or not for every kind, since",
    Condition.REJECTED: "The API server refuses to be followed since",
}


class Gathering:
    """The content of every followed scope."""

    __slots__ = ("_awaited", "_delivered", "_held", "_own_node", "_scopes", "_secrets", "_troubles")

    def __init__(self, scopes: Iterable[Scope], *, own_node: str = "") -> None:
        """`own_node` names the Node that is kept even if it is deleted, because this process still runs on it."""
        self._scopes = {scope: _Content() for scope in scopes}
        self._own_node = own_node
        self._delivered: set[Kind] = set()
        self._held: dict[Kind, dict[_Key, KubernetesObject]] = {}
        self._secrets: frozenset[_Key] = frozenset()
        self._awaited: set[_Key] = set()
        self._troubles: dict[Condition, str] = {}
        """The message of each condition in which scopes are that were read before, as it began."""

    @property
    def settled(self) -> bool:
        """Whether every scope has delivered its objects, or the API server has refused them."""
        return not self.owing

    @property
    def owing(self) -> frozenset[Place]:
        """The places whose wanted objects have neither arrived nor been refused. While there are any, `settled` is
        false.
        """
        namespaces = {namespace for namespace, _ in self._awaited}
        return frozenset(
            (scope.kind, scope.namespace)
            for scope, content in self._scopes.items()
            if not content.answered or (_is_of_many_secrets(scope) and _covers(scope, namespaces))
        )

    @property
    def awaited_secrets(self) -> frozenset[_Key]:
        """Secrets that passed by before they were wanted. `found` has to report each of them."""
        return frozenset(self._awaited)

    def keeps(self, identity: Identity) -> bool:
        """Whether this Secret is wanted now. No other Secret is ever held whole."""
        return identity.key in self._secrets

    def keep_secrets(self, wanted: frozenset[_Key]) -> Iterator[Event]:
        """From now on keeps these Secrets and no others, because zonal holds no Secret that it does not need."""
        gone = self._secrets - wanted
        new = wanted - self._secrets
        self._secrets = wanted
        self._awaited -= gone
        for scope, content in self._scopes.items():
            if scope.kind is not Kind.SECRET:
                continue
            if content.answered and not scope.name:
                self._awaited |= {key for key in new if scope.namespace in ("", key[0])}
            for key in gone:
                content.unreadable.pop(key, None)
            for key in content.keys & gone:
                content.keys.discard(key)
                yield Removed(Kind.SECRET, *key)

    def found(self, key: _Key, secret: KubernetesObject | None) -> Iterator[Event]:
        """Takes an awaited Secret; None if it does not exist. Ignores it if its scope has reported it meanwhile."""
        if key not in self._awaited:
            return
        self._awaited.discard(key)
        for scope, content in self._scopes.items():
            if secret is not None and scope.kind is Kind.SECRET and not scope.name and scope.namespace in ("", key[0]):
                content.keys.add(key)
                yield Upserted(secret)

    def follow(self, scope: Scope) -> None:
        """Adds a scope that will report its objects."""
        self._scopes.setdefault(scope, _Content())

    def leave(self, scope: Scope) -> Iterator[Event]:
        """Removes a scope. Its objects are gone unless another scope has them, and nobody waits for it any longer."""
        content = self._scopes.pop(scope, _Content())
        others = {key for other, held in self._scopes.items() if other.kind is scope.kind for key in held.keys}
        for key in content.keys - others:
            yield from self._removed(scope.kind, key)
        yield from self._delivery(scope.kind)

    def apply(self, event: ScopeEvent, *, now_epoch_seconds: float = 0.0) -> Iterator[Event]:
        """The events of a kind that follow from an event of a scope; none if the scope is no longer followed.

        `now_epoch_seconds` is only told in findings.
        """
        content = self._scopes.get(event.scope)
        if content is None:
            return
        match event:
            case ScopeReplaced():
                yield from self._replace(event, content)
            case ScopeUpserted():
                yield from self._upsert(event, content)
            case ScopeRemoved():
                key = (event.namespace, event.name)
                self._note_news(event.scope, key)
                content.unreadable.pop(key, None)
                content.keys.discard(key)
                yield from self._removed(event.scope.kind, key)
            case ScopeUnreadable():
                self._note_unreadable(event.unreadable, content)
            case ScopeState():
                content.condition = event.condition
                content.problem = event.problem
                if event.condition is Condition.SYNCED:
                    content.lost = ""
                self._note_trouble(event, content, now_epoch_seconds)
                if event.condition in _ANSWERS and event.scope.kind not in REQUIRED_KINDS and not content.answered:
                    content.answered = True
                    yield from self._delivery(event.scope.kind)

    def _note_trouble(self, event: ScopeState, content: _Content, now_epoch_seconds: float) -> None:
        if event.condition in _OF_THE_WHOLE and content.is_read and event.condition not in self._troubles:
            since = datetime.fromtimestamp(now_epoch_seconds, UTC)
            said = _SAID_OF_THE_WHOLE[event.condition]
            self._troubles[event.condition] = f"{said} {since:%Y-%m-%d %H:%M:%S} UTC: {event.problem}."
        present = {content.condition for content in self._scopes.values() if content.is_read}
        self._troubles = {condition: said for condition, said in self._troubles.items() if condition in present}

    def has_unreadable(self, scope: Scope) -> bool:
        """Whether any object of the scope cannot be read."""
        content = self._scopes.get(scope)
        return content is not None and bool(content.unreadable)

    def findings(self) -> SourceFindings:
        """All findings about scopes and about objects that cannot be read."""
        findings = Findings()
        for scope, content in self._scopes.items():
            lost = {("", ""): content.lost} if content.lost else {}
            for (namespace, name), problem in {**content.unreadable, **lost}.items():
                findings.add(
                    Subject(scope.kind.value, namespace, name),
                    reason="Unreadable",
                    message=f"{problem}.",
                    severity=_SEVERITIES.get(scope.kind, Severity.CLOSED),
                    effect="zonal uses the last version that it could read, if there was one.",
                )
            if content.condition is not Condition.SYNCED and not (
                content.is_read and content.condition in _OF_THE_WHOLE
            ):
                _note_condition(findings, scope, content)
        for condition, message in self._troubles.items():
            findings.add(
                Subject("ApiServer", "", "kubernetes"),
                reason=f"Api{condition.value}",
                message=message,
                severity=Severity.DEGRADED,
                effect=_READ_EFFECT,
            )
        return SourceFindings(SOURCE, findings.frozen())

    def _replace(self, event: ScopeReplaced, content: _Content) -> Iterator[Event]:
        kind, objects = event.scope.kind, [item for item in event.objects if self._is_kept(item)]
        broken = {(item.namespace, item.name): item.problem for item in event.unreadable}
        present = {key_of(item) for item in objects}
        missed = self._missed(event)
        gone = content.keys - present - broken.keys() - missed
        content.keys = present | (content.keys & (broken.keys() | missed))
        self._await_missed(event.scope, missed - content.keys)
        content.unreadable = broken
        content.lost = ""
        content.answered = True
        content.is_read = True
        for key in gone:
            yield from self._removed(kind, key)
        if kind in self._delivered or kind in _PIECEMEAL:
            yield from map(Upserted, objects)
            return
        self._held.setdefault(kind, {}).update((key_of(item), item) for item in objects)
        yield from self._delivery(kind)

    def _note_unreadable(self, unreadable: Unreadable, content: _Content) -> None:
        if unreadable.name:
            content.unreadable[unreadable.namespace, unreadable.name] = unreadable.problem
        else:
            content.lost = unreadable.problem

    def _missed(self, event: ScopeReplaced) -> frozenset[_Key]:
        # Secrets that became wanted while the list came, after they had passed by.
        return self._secrets.intersection(event.passed_by) if event.scope.kind is Kind.SECRET else frozenset()

    def _await_missed(self, scope: Scope, missed: frozenset[_Key]) -> None:
        if scope.kind is Kind.SECRET:
            told = {key for key in self._awaited if scope.namespace in ("", key[0])}
            self._awaited = (self._awaited - told) | missed

    def _delivery(self, kind: Kind) -> Iterator[Event]:
        """The first whole list of a kind, when its last scope has answered."""
        contents = (content for scope, content in self._scopes.items() if scope.kind is kind)
        if kind in _PIECEMEAL or kind in self._delivered or not all(content.answered for content in contents):
            return
        self._delivered.add(kind)
        yield Replaced(kind, tuple(self._held.pop(kind, {}).values()))

    def _upsert(self, event: ScopeUpserted, content: _Content) -> Iterator[Event]:
        key, kind = key_of(event.object), event.scope.kind
        content.unreadable.pop(key, None)
        if not self._is_kept(event.object):
            return
        self._note_news(event.scope, key)
        content.keys.add(key)
        if kind in self._delivered or kind in _PIECEMEAL:
            yield Upserted(event.object)
        else:
            self._held.setdefault(kind, {})[key] = event.object

    def _removed(self, kind: Kind, key: _Key) -> Iterator[Event]:
        if kind is Kind.NODE and key[1] == self._own_node:
            return
        if kind in self._delivered or kind in _PIECEMEAL:
            yield Removed(kind, *key)
        else:
            self._held.get(kind, {}).pop(key, None)

    def _note_news(self, scope: Scope, key: _Key) -> None:
        if scope.kind is Kind.SECRET:
            self._awaited.discard(key)

    def _is_kept(self, item: KubernetesObject) -> bool:
        return item.kind is not Kind.SECRET or key_of(item) in self._secrets


def _is_of_many_secrets(scope: Scope) -> bool:
    return scope.kind is Kind.SECRET and not scope.name


def _covers(scope: Scope, namespaces: Collection[str]) -> bool:
    return scope.namespace in namespaces if scope.namespace else bool(namespaces)


class _Content(msgspec.Struct):
    """What is known about one scope."""

    answered: bool = False
    is_read: bool = False  # in every condition the last content stays in use
    condition: Condition = Condition.SYNCED
    problem: str = ""
    keys: set[_Key] = msgspec.field(default_factory=set)
    unreadable: dict[_Key, str] = {}
    lost: str = ""
    """The problem of a line that named no object. Cleared when the reflector reports its state again."""


def _note_condition(findings: Findings, scope: Scope, content: _Content) -> None:
    place = f" in namespace {scope.namespace}" if scope.namespace else ""
    plural = RESOURCES[scope.kind].plural
    findings.add(
        Subject(scope.kind.value, scope.namespace, scope.name),
        reason=f"Api{content.condition.value}",
        message=f"{plural}{place} cannot be followed: {content.problem}.",
        severity=Severity.DEGRADED if content.is_read else _SEVERITIES.get(scope.kind, Severity.CLOSED),
        effect=_READ_EFFECT if content.is_read else _EFFECTS.get(scope.kind, _UNREAD_EFFECT),
    )


def secret_scopes(wanted: Collection[_Key], *, breadth: str) -> frozenset[Scope]:
    """The scopes to follow so that these Secrets are known.

    `breadth` is "cluster" for one watch over all Secrets, "namespace" for a watch over each namespace with a wanted
    Secret, or "name" for a watch over each wanted Secret.
    """
    if breadth == "cluster":
        return frozenset({Scope(Kind.SECRET)} if wanted else ())
    if breadth == "namespace":
        return frozenset(Scope(Kind.SECRET, namespace=namespace) for namespace, _ in wanted)
    return frozenset(Scope(Kind.SECRET, namespace=namespace, name=name) for namespace, name in wanted)

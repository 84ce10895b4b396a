"""A small cluster with a history, and followers that are told of it in any order that an API server may choose.

Responsible for histories and for the way from watches to a model, as `source` and `controller` put it together. It must
not know what is expected of the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Final

import msgspec
import trustme

from balancer.runtime.steps import finished
from ingress.objects.kinds import Ingress, IngressClass, IngressTls, Kind, KubernetesObject, SlicePort, key_of
from ingress.settings.context import TranslationContext
from ingress.sources.events import Event
from ingress.sources.inventory import Inventory
from ingress.sources.kubernetes.backlog import Backlog
from ingress.sources.kubernetes.decoding import Bookmark, Changed, Deleted, Identity, Item, Passed, Unreadable
from ingress.sources.kubernetes.gathering import Gathering, secret_scopes
from ingress.sources.kubernetes.replica import Replica
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import Condition, ScopeEvent, ScopeState
from ingress.translation.assembly import Memories, Translation, translate, with_endpoints
from tests.unit.ingress.cluster import (
    backend,
    config_map,
    endpoint,
    endpoint_slice,
    full_node,
    ingress,
    ingress_class,
    node,
    path,
    rule,
    service,
    tls_secret,
)

OWN_NODE: Final = "node-1"
CONTEXT: Final = TranslationContext(node_name=OWN_NODE, publish_service="away/cart")
FIRST_VERSION: Final = 10
"""That of the empty cluster; every step of a history is one more."""


class Told(msgspec.Struct, frozen=True):
    """One step of a history, as a watch tells it."""

    kind: Kind
    event: Changed | Deleted

    @property
    def identity(self) -> Identity:
        """Whose step it is."""
        return self.event.item.identity if isinstance(self.event, Changed) else self.event.identity


@cache
def subjects() -> tuple[tuple[KubernetesObject, ...], ...]:
    """Every object that a history is about, each with all that it may be."""
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    issued = [authority.issue_cert(host, key_type=trustme.KeyType.ECDSA) for host in ("shop.test", "*.test")]
    pairs = [(item.cert_chain_pems[0].bytes(), item.private_key_pem.bytes()) for item in issued]
    to_pay, tls = path("/pay", to=backend("pay")), IngressTls(("shop.test",), "cert")
    moved, local = endpoint("10.0.1.1", node="node-2"), endpoint("10.0.0.1", node=OWN_NODE)
    return (
        (
            ingress("web", rule("shop.test", path(), to_pay), tls=[tls]),
            ingress("web", rule("shop.test", path()), tls=[IngressTls((), "other")]),
            ingress("web", rule("other.test"), class_name=None),
            ingress("web", rule("shop.test"), annotations={"nginx.ingress.kubernetes.io/no-such": "x"}),
        ),
        (
            ingress("rival", rule("shop.test", path(to=backend("pay", "http")))),
            ingress("rival", rule("rival.test", path()), tls=[IngressTls((), "other")]),
            ingress("rival", default=backend("cart"), class_name="spare"),
        ),
        (
            ingress("far", rule("shop.test"), namespace="away"),
            ingress("far", rule("far.test"), tls=[IngressTls((), "cert")], namespace="away"),
        ),
        (ingress_class(), ingress_class(controller="example.com/other"), ingress_class(default=True)),
        (ingress_class("spare"), ingress_class("spare", default=True)),
        (
            service(),
            service(annotations={"zonal-ingress.io/zone-policy": "off"}),
            service(annotations={"zonal-ingress.io/zone-policy": "ordered: rack"}),
            service(kind="ExternalName"),
        ),
        (service("pay"), service("pay", annotations={"zonal-ingress.io/zone-policy": "proportional"})),
        (service(namespace="away"),),
        (
            endpoint_slice("one", local),
            endpoint_slice("one", local, moved),
            endpoint_slice("one", moved, of="pay"),
            endpoint_slice("one", endpoint("127.0.0.1")),
        ),
        (
            endpoint_slice("two", moved),
            endpoint_slice("two", endpoint("10.0.0.1", ready=False), moved),
            endpoint_slice("two", moved, ports=(SlicePort("else", 9),)),
        ),
        (endpoint_slice("one", endpoint("10.0.2.1", zone="zone-c"), namespace="away"),),
        (config_map(zone_aware_routing="true"), config_map(zone_aware_routing="no"), config_map(node_watch="true")),
        (node(), node(zone="zone-b")),
        (full_node("node-2", "zone-b"), full_node("node-2", "zone-c", labels={"rack": "r"})),
        # None that does not parse: the last good one is kept then, and only those who have seen it have it.
        (tls_secret("cert", *pairs[0]), tls_secret("cert", *pairs[1])),
        (tls_secret("other", *pairs[1]), tls_secret("other", *pairs[0])),
        (tls_secret("cert", *pairs[0], namespace="away"), tls_secret("cert", *pairs[1], namespace="away")),
    )


def history_of(script: Iterable[tuple[int, int]]) -> tuple[Told, ...]:
    """What happens when each pair of a subject and an action, any two numbers, is carried out.

    Objects are created, changed, broken, deleted and made again. At the end none is broken: the last readable state of
    a broken one is known only to those who have seen it.
    """
    past = _Past()
    for which, action in script:
        variants = subjects()[which % len(subjects())]
        past.act(variants, action % (len(variants) + 3))
    past.heal()
    return tuple(past.told)


class _Past:
    def __init__(self) -> None:
        self.told: list[Told] = []
        self._living: dict[tuple[Kind, str, str], tuple[str, str]] = {}
        self._broken: dict[tuple[Kind, str, str], KubernetesObject] = {}

    def act(self, variants: Sequence[KubernetesObject], action: int) -> None:
        if action < len(variants):
            self._write(variants[action])
        elif action == len(variants):
            self._break(variants[0])
        else:
            self._delete(variants[0])

    def heal(self) -> None:
        for item in [*self._broken.values()]:
            self._write(item)

    def _write(self, item: KubernetesObject) -> None:
        identity = self._identity(item)
        uid, created = self._living.setdefault((item.kind, *key_of(item)), (identity.uid, _time(len(self.told))))
        self._broken.pop((item.kind, *key_of(item)), None)
        metadata = msgspec.structs.replace(
            item.metadata, uid=uid, resource_version=identity.version, creation_timestamp=created
        )
        self._tell(item.kind, Changed(Item(identity, msgspec.structs.replace(item, metadata=metadata))))

    def _break(self, item: KubernetesObject) -> None:
        identity = self._identity(item)
        self._living.setdefault((item.kind, *key_of(item)), (identity.uid, _time(len(self.told))))
        self._broken[item.kind, *key_of(item)] = item
        self._tell(item.kind, Changed(Item(identity, Unreadable(*key_of(item), "is malformed"))))

    def _delete(self, item: KubernetesObject) -> None:
        key = item.kind, *key_of(item)
        if key in self._living and key != (Kind.NODE, "", OWN_NODE):  # that one is kept on purpose
            identity = self._identity(item)
            del self._living[key]
            self._broken.pop(key, None)
            self._tell(item.kind, Deleted(identity))

    def _identity(self, item: KubernetesObject) -> Identity:
        version = str(FIRST_VERSION + len(self.told) + 1)
        uid, _ = self._living.get((item.kind, *key_of(item)), (f"uid-{version}", ""))
        return Identity(*key_of(item), uid, version)

    def _tell(self, kind: Kind, event: Changed | Deleted) -> None:
        self.told.append(Told(kind, event))


def _time(step: int) -> str:
    # Several in one second, as in a cluster: then names decide who is older.
    return f"2024-01-01T00:{step // 4:02d}:00Z"


class Reader:
    """One scope of a history, as the API server tells it: lists of any age, and what a watch says after them."""

    def __init__(self, scope: Scope, history: Sequence[Told], take: Callable[[ScopeEvent], None]) -> None:
        self.scope = scope
        self.position: int | None = None
        """How many steps of the history were told; None before the first list."""
        self.label = f"{scope.kind.value} {scope.namespace}/{scope.name}"
        self._history = history
        self._replica = Replica(scope)
        self._take = take

    def list(self, position: int) -> None:
        """A whole list of the cluster after so many steps, be it older than what was told."""
        items: dict[tuple[str, str], Item | Passed] = {}
        for told in self._between(0, position):
            items.pop(told.identity.key, None)
            if isinstance(told.event, Changed):
                items[told.identity.key] = told.event.item
        self._take(self._replica.replace(items.values(), str(FIRST_VERSION + position)))
        self.position = position

    def watch(self, *, back: int, on: int) -> None:
        """A watch that begins some steps before what was told, and gets some steps further."""
        before = self.position or 0
        end = min(before + on, len(self._history))
        for told in self._between(max(before - back, 0), end):
            if news := self._replica.apply(told.event):
                self._take(news)
        self._replica.apply(Bookmark(str(FIRST_VERSION + end)))
        self.position = end

    def repeat(self, *, back: int) -> None:
        """Some of what was told comes again, and nothing after it."""
        before = self.position or 0
        for told in self._between(max(before - back, 0), max(before - back // 2, 0)):
            if news := self._replica.apply(told.event):
                self._take(news)

    def holds(self, position: int) -> KubernetesObject | None:
        """The first readable object of the scope after so many steps."""
        found: KubernetesObject | None = None
        for told in self._between(0, position):
            item = told.event.item if isinstance(told.event, Changed) else None
            content = item.content if isinstance(item, Item) else None
            found = None if isinstance(content, Unreadable) else content
        return found

    def _between(self, begin: int, end: int) -> Iterator[Told]:
        for told in self._history[begin:end]:
            namespace, name = told.identity.key
            here = self.scope.namespace in ("", namespace) and self.scope.name in ("", name)
            if told.kind is self.scope.kind and here:
                yield told


class Follower:
    """Everything between watches and a model, without tasks and time."""

    def __init__(self, history: Sequence[Told], *, namespaces: Sequence[str], breadth: str) -> None:
        scopes = [
            Scope(Kind.INGRESS_CLASS),
            Scope(Kind.CONFIG_MAP, "zonal", "zonal"),
            Scope(Kind.NODE),
            Scope(Kind.NODE, name=OWN_NODE, metadata_only=True),
            *(
                Scope(kind, place)
                for kind in (Kind.INGRESS, Kind.SERVICE, Kind.ENDPOINT_SLICE)
                for place in namespaces or ("",)
            ),
        ]
        self._history = history
        self._breadth = breadth
        self._gathering = Gathering(scopes, own_node=OWN_NODE)
        self._backlog = Backlog()
        self._memories = Memories()
        self._asked: dict[tuple[str, str], int] = {}
        self._readers = {scope: self._reader(scope) for scope in scopes}
        self.inventory = Inventory()
        self.last: Translation | None = None

    @property
    def readers(self) -> list[Reader]:
        """One for each scope that is followed now, in a stable order."""
        return sorted(self._readers.values(), key=lambda reader: reader.label)

    def turn(self, reader: Reader, condition: Condition) -> None:
        """The API server treats a scope differently now."""
        problem = "" if condition is Condition.SYNCED else "HTTP 500"
        self._take(ScopeState(reader.scope, condition, problem))

    def drain(self, most: int) -> None:
        """The controller takes so many events."""
        while most > 0 and (event := self._backlog.take()) is not None:
            self.inventory.apply(event)
            most -= 1

    def translate(self) -> None:
        """The controller makes a model of what it has taken, whole or only in part, and says what it wants."""
        if not self.inventory.complete:
            return
        changes = self.inventory.take_changes()
        if self.last is not None and not changes.beyond and self.last.services.isdisjoint(changes.services):
            self.last = finished(with_endpoints(self.last, changes.slices_of, self.inventory))
        else:
            self.last = translate(self.inventory, CONTEXT, memories=self._memories)
        self._want(self.last.wanted.secrets)

    def ask(self) -> None:
        """The API server reads every Secret that passed by unwanted, no older than what it has told of them."""
        for key in self._gathering.awaited_secrets - self._asked.keys():
            self._asked[key] = max(
                reader.position or 0
                for reader in self.readers
                if reader.scope.kind is Kind.SECRET and reader.scope.namespace in ("", key[0])
            )

    def answer(self) -> None:
        """What was read arrives."""
        for key, position in sorted(self._asked.items()):
            self._add(self._gathering.found(key, self._reader(Scope(Kind.SECRET, *key)).holds(position)))
        self._asked.clear()

    def finish(self) -> Translation:
        """Everything is told and taken; returns the last translation."""
        for _ in range(len(subjects())):
            # Slices last and on their own, so that the last model is one of the cheap path.
            for are_slices in (False, True):
                for reader in self.readers:
                    if (reader.scope.kind is Kind.ENDPOINT_SLICE) is are_slices or reader.position is None:
                        self._catch_up(reader)
                self.ask()
                self.answer()
                self.drain(10_000)
                self.translate()
            if self._gathering.settled and not len(self._backlog) and self.last is not None:
                return self.last
        raise AssertionError("it does not settle")

    def _catch_up(self, reader: Reader) -> None:
        self.turn(reader, Condition.SYNCED)
        if reader.position is None:
            reader.list(len(self._history))
        reader.watch(back=0, on=len(self._history))

    def _want(self, secrets: frozenset[tuple[str, str]]) -> None:
        self._add(self._gathering.keep_secrets(secrets))
        self._asked = {key: at for key, at in self._asked.items() if key in self._gathering.awaited_secrets}
        scopes = secret_scopes(secrets, breadth=self._breadth)
        for scope in [scope for scope in self._readers if scope.kind is Kind.SECRET and scope not in scopes]:
            del self._readers[scope]
            self._add(self._gathering.leave(scope))
        for scope in scopes - self._readers.keys():
            self._gathering.follow(scope)
            self._readers[scope] = self._reader(scope)

    def _reader(self, scope: Scope) -> Reader:
        return Reader(scope, self._history, self._take)

    def _take(self, event: ScopeEvent) -> None:
        self._add(self._gathering.apply(event))
        self._backlog.add(self._gathering.findings())

    def _add(self, events: Iterable[Event]) -> None:
        for event in events:
            self._backlog.add(event)


def content_of(known: Inventory) -> tuple[object, ...]:
    """Everything in an inventory, in an order of its own."""
    read: dict[Kind, Callable[[str, str], object]] = {
        Kind.SERVICE: known.service,
        Kind.SECRET: known.secret,
        Kind.CONFIG_MAP: known.config_map,
        Kind.NODE: lambda _, name: known.node(name),
    }
    slices = [item for place in ("shop", "away") for of in ("cart", "pay") for item in known.slices(place, of)]
    return (
        sorted(known.of(Ingress), key=key_of),
        sorted(known.of(IngressClass), key=key_of),
        sorted(slices, key=key_of),
        [read[kind](*key_of(first)) for first, *_ in subjects() if (kind := first.kind) in read],
        known.findings,
    )

"""Reads the API server as a source: one reflector for each scope, the node cache, and events for the controller.

Decides which scopes are followed now. `gathering` decides what their events mean for a kind, and `backlog` queues
events for the controller. Does not know how the objects are used.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping

import msgspec

from balancer.runtime.supervising import kept_at_work
from ingress.objects.kinds import OPTIONAL_KINDS, EndpointSlice, Kind, key_of
from ingress.objects.names import SUBDOMAIN
from ingress.sources.contract import Wanted
from ingress.sources.events import Event, Removed, Replaced, SourceFindings, Upserted
from ingress.sources.kubernetes.api import ApiServer
from ingress.sources.kubernetes.backlog import Backlog
from ingress.sources.kubernetes.discovery import Discovery
from ingress.sources.kubernetes.gathering import Gathering, secret_scopes
from ingress.sources.kubernetes.nodes import NODES, NodeCache
from ingress.sources.kubernetes.outage import Outage
from ingress.sources.kubernetes.patience import Patience
from ingress.sources.kubernetes.reflecting import ReflectorTimes
from ingress.sources.kubernetes.reflector import Reflector
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import (
    Condition,
    ScopeEvent,
    ScopeReplaced,
    ScopeState,
    ScopeUnreadable,
    ScopeUpserted,
)
from ingress.sources.kubernetes.served_kinds import gateway_scopes

_RESTART_SECONDS = 5.0
# Each request takes a connection, and descriptors are shared with the clients that this process serves.
_ASKED_AT_ONCE = 10
_EVERY_NODE = Scope(Kind.NODE)
_ASKED = OPTIONAL_KINDS | {Kind.SECRET, Kind.NODE, Kind.CONFIG_MAP}
"""Kinds that a model needs beyond `REQUIRED_KINDS`; `want` answers for them."""
_WATCHED = (Kind.INGRESS, Kind.SERVICE, Kind.ENDPOINT_SLICE)


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the cluster to follow. No `namespaces` means all. `configmap` is `namespace/name`.

    `secret_breadth` is that of `secret_scopes`. `node_name` is empty if the Node of this process is unknown.
    `gateways`: the kinds of Gateway API are followed as far as they are served. Otherwise nobody asks for them.
    """

    configmap: str
    namespaces: tuple[str, ...] = ()
    node_name: str = ""
    secret_breadth: str = "namespace"
    gateways: bool = False


class KubernetesSource:
    """Follows the cluster until `events` is closed. Must be made inside the running loop."""

    def __init__(
        self, api: ApiServer, options: ClusterOptions, *, times: ReflectorTimes, random: Callable[[], float]
    ) -> None:
        """`random` returns numbers from 0 to 1, which spread the times."""
        self._api = api
        self._options = options
        self._times = times
        self._random = random
        self._wanted = Wanted()
        self._patience = Patience()
        self._backlog = Backlog()
        self._news = asyncio.Event()
        self._tasks: dict[Scope, asyncio.Task[None]] = {}
        self._last_event_at: dict[Kind, float] = {}
        self.on_change: Callable[[Kind], None] = lambda _: None
        """Called with the kind of each object that has changed, whatever of it."""
        self.served: Mapping[Kind, str] = {}
        """The version at which each kind of Gateway API is followed; an empty one means that the kind is absent."""
        self._optional = gateway_scopes(options.namespaces) if options.gateways else {}
        optional = (scope for scopes in self._optional.values() for scope in scopes)
        self._gathering = Gathering((*_first_scopes(options), NODES, *optional), own_node=options.node_name)
        self._nodes = NodeCache(api, emit=self._take, times=self._times, random=random)
        self._outage = Outage()
        self._outage.on_return = self._nodes.ask_again

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yields events without end, the first at once. An API server that does not answer is no error: `events` waits
        for it.
        """
        for scope in _first_scopes(self._options):
            self._follow(scope)
        self._start(NODES, self._nodes.run)
        looking = [_kept_at_work(self._discovery().run, Kind.GATEWAY)] if self._options.gateways else []
        try:
            yield self._gathering.findings()
            while True:
                while (event := self._backlog.take()) is not None:
                    yield event
                await self._news.wait()
                self._news.clear()
        finally:
            await self._stop((*self._tasks.values(), *looking))

    def want(self, wanted: Wanted) -> bool:
        """See `Source.want`."""
        if wanted != self._wanted:
            self._add(self._gathering.keep_secrets(wanted.secrets))
            self._follow_secrets(secret_scopes(wanted.secrets, breadth=self._options.secret_breadth))
            self._follow_nodes(every=wanted.every_node)
            self._follow_config_maps(wanted.config_maps)
            self._wanted = wanted
        followed = {(scope.kind, scope.namespace) for scope in self._tasks}
        now = asyncio.get_running_loop().time()
        is_known = self._patience.ends(self._gathering.owing, followed=followed, now=now)
        return is_known and not self._backlog.holds(_ASKED)

    def note(self, findings: SourceFindings) -> None:
        """Passes on the findings of another part of this process that talks to the API server."""
        self._add([findings])

    def event_ages(self) -> dict[Kind, float]:
        """Seconds since the API server last sent something about each kind."""
        now = asyncio.get_running_loop().time()
        return {kind: now - at for kind, at in self._last_event_at.items()}

    @property
    def failing(self) -> int:
        """The number of reflectors that wait for the API server because their last request failed."""
        return self._outage.failing

    def _follow_secrets(self, scopes: frozenset[Scope]) -> None:
        """Follows these scopes. Secrets that passed by before they were wanted are asked for by name."""
        kept = scopes | {Scope(Kind.SECRET, *key) for key in self._gathering.awaited_secrets}
        for scope in [scope for scope in self._tasks if scope.kind is Kind.SECRET and scope not in kept]:
            self._leave(scope)
        for scope in scopes - self._tasks.keys():
            self._follow(scope)
        self._ask_by_name()

    def _ask_by_name(self) -> None:
        """Asks for Secrets that passed by, some of each namespace at once, because an Ingress may name thousands."""
        asked = Counter(scope.namespace for scope in self._asked_by_name())
        for namespace, name in self._gathering.awaited_secrets:
            scope = Scope(Kind.SECRET, namespace, name)
            if asked[namespace] < _ASKED_AT_ONCE and scope not in self._tasks:
                asked[namespace] += 1
                self._start(scope, self._reflector(scope, self._take_awaited).run)

    def _ask_by_name_unless_busy(self, namespace: str) -> None:
        # `_ask_by_name` walks through all awaited Secrets, so it does not run for each answer.
        if all(scope.namespace != namespace for scope in self._asked_by_name()):
            self._ask_by_name()

    def _asked_by_name(self) -> Iterator[Scope]:
        return (scope for scope in self._tasks if scope.kind is Kind.SECRET and scope.name)

    def _follow_nodes(self, *, every: bool) -> None:
        if every and _EVERY_NODE not in self._tasks:
            self._follow(_EVERY_NODE)
        elif not every and _EVERY_NODE in self._tasks:
            self._leave(_EVERY_NODE)

    def _follow_config_maps(self, wanted: frozenset[tuple[str, str]]) -> None:
        """Follows these ConfigMaps, and always the one that holds the settings."""
        scopes = {Scope(Kind.CONFIG_MAP, *key) for key in wanted} | set(_first_scopes(self._options))
        for scope in [scope for scope in self._tasks if scope.kind is Kind.CONFIG_MAP and scope not in scopes]:
            self._leave(scope)
        for scope in [scope for scope in scopes if scope.kind is Kind.CONFIG_MAP and scope not in self._tasks]:
            self._follow(scope)

    def _discovery(self) -> Discovery:
        return Discovery(
            self._api,
            take=self._follow_served,
            fail=self._note_unserved,
            outage=self._outage,
            times=self._times,
            random=self._random,
        )

    def _follow_served(self, changes: Mapping[Kind, str]) -> None:
        """Takes the changes of `ServedKinds.look`. With another version, the objects of the one before stay until the
        first list.
        """
        self.served = {**self.served, **changes}
        for kind, version in changes.items():
            for scope in self._optional[kind]:
                if version:
                    self._cancel(scope)
                    self._follow(scope, version)
                else:
                    self._leave(scope)

    def _note_unserved(self, condition: Condition, problem: str) -> None:
        """Notes of the kinds that are not followed that nobody knows whether they are served."""
        for scopes in self._optional.values():
            for scope in scopes:
                if scope not in self._tasks:
                    self._take(ScopeState(scope, condition, problem))

    def _follow(self, scope: Scope, version: str = "") -> None:
        self._gathering.follow(scope)
        self._start(scope, self._reflector(scope, self._take, version).run)

    def _leave(self, scope: Scope) -> None:
        self._cancel(scope)
        self._add(self._gathering.leave(scope))
        self._backlog.add(self._gathering.findings())
        self._news.set()

    def _reflector(self, scope: Scope, emit: Callable[[ScopeEvent], None], version: str = "") -> Reflector:
        # A Secret that is asked for by name is wanted. Of those in a whole namespace only few are.
        keeps = self._gathering.keeps if scope.kind is Kind.SECRET and not scope.name else None
        return Reflector(
            self._api,
            scope,
            emit=emit,
            keeps=keeps,
            times=self._times,
            random=self._random,
            outage=self._outage,
            version=version,
        )

    def _take(self, event: ScopeEvent) -> None:
        if not isinstance(event, ScopeState):
            self._last_event_at[event.scope.kind] = asyncio.get_running_loop().time()
            self.on_change(event.scope.kind)
        heals = self._gathering.has_unreadable(event.scope)
        self._add(self._gathering.apply(event, now_epoch_seconds=time.time()))
        if isinstance(event, ScopeReplaced) and event.passed_by:
            self._ask_by_name()
        if heals or isinstance(event, ScopeState | ScopeUnreadable | ScopeReplaced):
            self._backlog.add(self._gathering.findings())
            self._news.set()

    def _take_awaited(self, event: ScopeEvent) -> None:
        """Takes the one list of a Secret that passed by before it was wanted."""
        scope = event.scope
        if isinstance(event, ScopeReplaced | ScopeUpserted):
            objects = event.objects if isinstance(event, ScopeReplaced) else (event.object,)
            self._add(self._gathering.found((scope.namespace, scope.name), next(iter(objects), None)))
            self._backlog.add(self._gathering.findings())  # the controller may wait for a Secret that does not exist
            self._news.set()
            self._cancel(scope)
            self._ask_by_name_unless_busy(scope.namespace)

    def _add(self, events: Iterable[Event]) -> None:
        for event in events:
            self._backlog.add(event)
            self._name_nodes(event)
            self._news.set()

    def _name_nodes(self, event: Event) -> None:
        """Tells the node cache on which nodes the endpoints are."""
        if isinstance(event, Upserted) and isinstance(event.object, EndpointSlice):
            self._name_nodes_of(event.object)
        elif isinstance(event, Removed) and event.kind is Kind.ENDPOINT_SLICE:
            self._nodes.name(event.namespace, event.name, ())
        elif isinstance(event, Replaced) and event.kind is Kind.ENDPOINT_SLICE:
            for item in event.objects:
                if isinstance(item, EndpointSlice):
                    self._name_nodes_of(item)

    def _name_nodes_of(self, item: EndpointSlice) -> None:
        # The name becomes part of a path. An invalid name could ask for something else with our token.
        named = {endpoint.node_name for endpoint in item.endpoints}
        self._nodes.name(*key_of(item), {name for name in named if SUBDOMAIN.fullmatch(name)})

    def _start(self, scope: Scope, run: Callable[[], Coroutine[None, None, None]]) -> None:
        self._tasks[scope] = _kept_at_work(run, scope.kind)

    def _cancel(self, scope: Scope) -> None:
        task = self._tasks.pop(scope, None)
        if task is not None:
            task.cancel()

    async def _stop(self, tasks: Iterable[asyncio.Task[None]]) -> None:
        stopping = list(tasks)
        for task in stopping:
            task.cancel()
        await asyncio.gather(*stopping, return_exceptions=True)


def _kept_at_work(run: Callable[[], Coroutine[None, None, None]], kind: Kind) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(
        kept_at_work(run, what=f"following {kind.value}", pause_seconds=_RESTART_SECONDS)
    )


def _first_scopes(options: ClusterOptions) -> tuple[Scope, ...]:
    """The scopes that are followed from the start, whatever the cluster contains."""
    namespace, _, name = options.configmap.partition("/")
    scopes = [Scope(Kind.INGRESS_CLASS), Scope(Kind.CONFIG_MAP, namespace=namespace, name=name)]
    scopes += [Scope(kind, namespace=place) for kind in _WATCHED for place in options.namespaces or ("",)]
    if options.node_name:
        scopes.append(Scope(Kind.NODE, name=options.node_name, metadata_only=True))
    return tuple(scopes)

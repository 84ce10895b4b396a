"""Calls the isolated hooks of a worker, each namespace in a process of its own while there is room.

Who ends a process by what it asks has ended its own: `hook_housing.py` decides which process answers whom.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

from balancer.connections.hook_hosts import UNAVAILABLE, USUAL_LIMITS, HookHost, HookTerms, beginning
from balancer.connections.hook_housing import APART_SECONDS, PROCESSES_MOST, HookHousing
from balancer.connections.hook_threads import HookThreads
from balancer.connections.isolated_calls import CallEnded, IsolatedCall, tenant_of
from balancer.matching.gates.hooks import HookCaller
from balancer.model.hooks import HookCode, HookRule
from balancer.runtime.absences import NEVER_ABSENT, Absences
from balancer.runtime.shares import FairShares
from zonal_hooks.limits import Limits, refuse_tracing
from zonal_hooks.messages import Message, Request, Response
from zonal_hooks.talking import Call
from zonal_hooks.verdicts import Verdict

_LOG = logging.getLogger(__name__)

_PENDING_MOST: Final = 1024  # calls under way of a worker, divided among namespaces; beyond its share a call fails
_LOOK_SECONDS: Final = 60.0


class HookHosts:
    """The processes of one set of isolated hooks. Made inside a running loop.

    A process starts at the first call of its namespace, which waits for it.
    """

    __slots__ = ("_hosts", "_housing", "_look", "_loop", "_terms")

    def __init__(self, terms: HookTerms, awaited: Iterable[str] = (), most: int = PROCESSES_MOST) -> None:
        """The processes of the namespaces `awaited` start at once. `most` have a process of their own."""
        self._terms = terms
        self._loop = asyncio.get_running_loop()
        self._housing = HookHousing(most)
        self._hosts: dict[str, HookHost] = {}
        for namespace in awaited:
            self._host_of(namespace)
        self._look = self._loop.call_later(_LOOK_SECONDS, self._end_idle)

    @property
    def pids(self) -> dict[str, int | None]:
        """The processes that run now, by their homes."""
        return {home: host.pid for home, host in self._hosts.items()}

    @property
    def busy(self) -> tuple[str, ...]:
        """The namespaces that have asked a process of their own lately."""
        return self._housing.busy(self._loop.time())

    def call(self, name: str, seconds: float, call: Call) -> Verdict | IsolatedCall:
        """Asks the process of the namespace for which `call` is made. Arguments are those of `HookHost.call`."""
        return self._host_of(tenant_of(call)).call(name, seconds, call)

    def close(self) -> None:
        """Ends the processes. Calls that are under way fail."""
        self._look.cancel()
        for host in self._hosts.values():
            host.close()

    def _host_of(self, namespace: str) -> HookHost:
        home = self._housing.home(namespace, self._loop.time())
        host = self._hosts.get(home)
        if host is None:
            self._close_ended()
            host = self._hosts[home] = HookHost(self._terms, home, self._lost)
        return host

    def _end_idle(self) -> None:
        self._housing.end_idle(self._loop.time())
        self._close_ended()
        self._look = self._loop.call_later(_LOOK_SECONDS, self._end_idle)

    def _close_ended(self) -> None:
        for home in [home for home in self._hosts if home not in self._housing]:
            self._hosts.pop(home).close()

    def _lost(self, namespace: str) -> None:
        if self._housing.lose(namespace, self._loop.time()):
            minutes = APART_SECONDS / 60
            _LOG.warning(
                "isolated hooks: a call of namespace %s ended its process; for %.0f minutes it shares none with others",
                namespace or "(none)",
                minutes,
            )


class IsolatedHooks:
    """The isolated hooks of a worker. Another set gets processes of its own; the last one serves on for a while."""

    __slots__ = ("_absences", "_ended", "_hosts", "_limits", "_old", "_room", "_serving", "_threads", "codes")

    def __init__(self, ended: CallEnded, limits: Limits = USUAL_LIMITS, absences: Absences = NEVER_ABSENT) -> None:
        """`absences` are those of the loop."""
        self._absences = absences
        self._ended = ended
        self._limits = limits
        self._room = FairShares(_PENDING_MOST)
        self._threads = HookThreads()
        self.codes: tuple[HookCode, ...] = ()
        self._hosts: HookHosts | None = None
        self._old: HookHosts | None = None
        self._serving: dict[tuple[str, str], HookHosts] = {}  # by name and digest of a hook

    def load(self, codes: Iterable[HookCode]) -> None:
        """Takes the hooks of the next publication."""
        wanted = tuple(code for code in codes if code.isolated)
        if wanted == self.codes:
            return
        terms = HookTerms(beginning(wanted, self._limits), self._ended, self._room, self._threads, self._absences)
        self.codes = wanted
        if self._old is not None:
            self._old.close()
        self._old = self._hosts  # requests of the publication before may still be under way
        self._serving = {hook: hosts for hook, hosts in self._serving.items() if hosts is self._old}
        self._hosts = None
        if wanted:
            refuse_tracing()
            self._hosts = HookHosts(terms, () if self._old is None else self._old.busy)
            self._serving |= dict.fromkeys(((code.key, code.digest) for code in wanted), self._hosts)

    def caller(self, rule: HookRule) -> HookCaller | None:
        """What calls the hook of a route; None if there is none of this text."""
        is_known = self._hosts is not None and self._serving.get((rule.name, rule.digest)) is self._hosts
        return IsolatedCaller(self, rule) if is_known else None

    def call(self, hook: tuple[str, str], seconds: float, call: Call) -> Verdict | IsolatedCall:
        """Asks the newest process that runs a hook of this name and digest. `seconds` is its timeout."""
        hosts = self._serving.get(hook)
        if hosts is None:  # of a publication that has ended long ago
            self._ended(hook[0], 0.0, UNAVAILABLE)
            return UNAVAILABLE
        return hosts.call(hook[0], seconds, call)

    def stop(self) -> None:
        """Ends every process."""
        for hosts in (self._old, self._hosts):
            if hosts is not None:
                hosts.close()
        self._old = None
        self._hosts = None
        self._serving = {}
        self._threads.stop()


class IsolatedCaller:
    """Calls one isolated hook with the settings of one route."""

    __slots__ = ("_hook", "_hooks", "_rule", "_seconds")

    def __init__(self, hooks: IsolatedHooks, rule: HookRule) -> None:
        self._hooks = hooks
        self._rule = rule
        self._hook = rule.name, rule.digest
        self._seconds = {phase.name: phase.timeout_seconds for phase in rule.phases}

    def call(self, phase: str, message: Message) -> Verdict | IsolatedCall:
        return self._hooks.call(self._hook, self._seconds[phase], call_of(self._rule, phase, message))


def call_of(rule: HookRule, phase: str, message: Message) -> Call:
    """The call that asks a hook about `message`."""
    if isinstance(message, Response):
        asked = message.request
        return Call(0, rule.name, phase, rule.settings, *asked.parts, message.status, message.raw)
    assert isinstance(message, Request)
    return Call(0, rule.name, phase, rule.settings, *message.parts)

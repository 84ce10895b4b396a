"""Calls the isolated hooks of a worker, and keeps namespaces whose calls end their process apart from all others.

A hook that computes for too long is the operator's, but what it is asked is a tenant's: one who finds a request for
which it overruns could otherwise refuse everybody's requests by asking again and again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from balancer.connections.hook_hosts import USUAL_LIMITS, HookHost
from balancer.connections.isolated_calls import CallEnded, IsolatedCall, tenant_of
from balancer.matching.gates.hooks import HookCaller
from balancer.model.hooks import HookCode, HookRule
from balancer.runtime.absences import NEVER_ABSENT, Absences
from zonal_hooks.limits import Limits, refuse_tracing
from zonal_hooks.messages import Message, Request, Response
from zonal_hooks.talking import Call
from zonal_hooks.verdicts import Verdict

_LOG = logging.getLogger(__name__)

APART_SECONDS: Final = 600.0
"""So long is a namespace kept apart after the last process that its calls ended."""

_APART_MOST: Final = 1024  # namespaces


class HookHosts:
    """The processes of one set of isolated hooks: that of everybody, and one for namespaces that are kept apart.

    The second one starts when the first namespace needs it.
    """

    __slots__ = ("_absences", "_apart", "_codes", "_ended", "_everybody", "_limits", "_loop", "_until")

    def __init__(self, codes: tuple[HookCode, ...], ended: CallEnded, limits: Limits, absences: Absences) -> None:
        """The arguments are those of `HookHost`."""
        self._codes = codes
        self._ended = ended
        self._limits = limits
        self._absences = absences
        self._loop = asyncio.get_running_loop()
        self._until: dict[str, float] = {}
        self._apart: HookHost | None = None
        self._everybody = self._host()

    @property
    def pids(self) -> tuple[int | None, ...]:
        """The processes that run now, that of everybody first."""
        return tuple(each.pid for each in (self._everybody, self._apart) if each is not None)

    def call(self, name: str, seconds: float, call: Call) -> Verdict | IsolatedCall:
        """Asks the process of the namespace for which `call` is made."""
        host = self._everybody
        if self._until and self._until.get(tenant_of(call), 0.0) > self._loop.time():
            host = self._apart or host
        return host.call(name, seconds, call)

    def close(self) -> None:
        """Ends the processes. Calls that are under way fail."""
        self._everybody.close()
        if self._apart is not None:
            self._apart.close()

    def _host(self) -> HookHost:
        return HookHost(self._codes, self._ended, self._limits, self._absences, self._keep_apart)

    def _keep_apart(self, tenant: str) -> None:
        """A process was lost while it worked at a call of this namespace."""
        if self._until.pop(tenant, None) is None:
            minutes = APART_SECONDS / 60
            _LOG.warning("isolated hooks: namespace %s is kept apart for %.0f minutes", tenant or "(none)", minutes)
        self._until[tenant] = self._loop.time() + APART_SECONDS
        if len(self._until) > _APART_MOST:
            del self._until[next(iter(self._until))]
        if self._apart is None:
            self._apart = self._host()


class IsolatedCaller:
    """Calls one isolated hook with the settings of one route."""

    __slots__ = ("_ask", "_rule", "_seconds")

    def __init__(self, ask: Callable[[str, float, Call], Verdict | IsolatedCall], rule: HookRule) -> None:
        """`ask` is `HookHosts.call`."""
        self._ask = ask
        self._rule = rule
        self._seconds = {phase.name: phase.timeout_seconds for phase in rule.phases}

    def call(self, phase: str, message: Message) -> Verdict | IsolatedCall:
        return self._ask(self._rule.name, self._seconds[phase], call_of(self._rule, phase, message))


class IsolatedHooks:
    """The isolated hooks of a worker. Another set gets a process of its own; the last one serves on for a while."""

    __slots__ = ("_absences", "_ended", "_hosts", "_limits", "_old", "codes")

    def __init__(self, ended: CallEnded, limits: Limits = USUAL_LIMITS, absences: Absences = NEVER_ABSENT) -> None:
        """`absences` are those of the loop."""
        self._absences = absences
        self._ended = ended
        self._limits = limits
        self.codes: tuple[HookCode, ...] = ()
        self._hosts: HookHosts | None = None
        self._old: list[HookHosts] = []

    def load(self, codes: Iterable[HookCode]) -> None:
        """Takes the hooks of the next publication."""
        wanted = tuple(code for code in codes if code.isolated)
        if wanted == self.codes:
            return
        self.codes = wanted
        if self._hosts is not None:
            self._old.append(self._hosts)
        while len(self._old) > 1:  # requests of the publication before may still be under way
            self._old.pop(0).close()
        if wanted:
            refuse_tracing()
        self._hosts = HookHosts(wanted, self._ended, self._limits, self._absences) if wanted else None

    def caller(self, rule: HookRule) -> HookCaller | None:
        """What calls the hook of a route; None if there is none of this text."""
        known = any((code.key, code.digest) == (rule.name, rule.digest) for code in self.codes)
        return IsolatedCaller(self._hosts.call, rule) if known and self._hosts is not None else None

    def stop(self) -> None:
        """Ends every process."""
        for hosts in (*self._old, *((self._hosts,) if self._hosts is not None else ())):
            hosts.close()
        self._old = []
        self._hosts = None


def call_of(rule: HookRule, phase: str, message: Message) -> Call:
    """The call that asks a hook about `message`."""
    if isinstance(message, Response):
        asked = message.request
        return Call(0, rule.name, phase, rule.settings, *asked.parts, message.status, message.raw)
    assert isinstance(message, Request)
    return Call(0, rule.name, phase, rule.settings, *message.parts)

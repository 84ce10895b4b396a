"""Foresees what becomes of a request that was logged: who would answer, from the routes that zonal would serve.

Asks the code that serves. Does not know what the log says of the answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from balancer.errors import Refusal
from balancer.http.messages import Fields, Repeated, RequestHead
from balancer.http.origin import Origin
from balancer.http.target import host_name, matchable_path
from balancer.matching.gates.leading import led_to
from balancer.matching.gates.verdicts import PASSED, Asked, Deny, Gate, NewPath, Reply, Verdict
from balancer.matching.routing import compile_routes
from balancer.matching.served import Match, Served
from balancer.model.entry_points import HTTP, HTTPS
from balancer.model.gates import CorsPreflight
from balancer.model.publication import RoutingModel
from balancer.model.routes import Branch
from balancer.proxy.answers import ANSWERS
from ingress.migration.rehearsal.lines import DEFAULT_BACKEND, LoggedRequest

_REMEMBERED = 200_000  # so many targets are matched once


class Foreseen(NamedTuple):
    """What would become of a request.

    `status` is that of an answer of zonal itself, 0 if the request goes on. `names` are those under which ingress-nginx
    would log the backends of the route, `place` says the route in words. `unknown`: gates judge whose verdict nobody
    can foresee. `preflights`: the route answers for CORS.
    """

    status: int = 0
    names: frozenset[str] = frozenset()
    place: str = ""
    unknown: bool = False
    preflights: bool = False


class Oracle:
    """Foresees requests for one model. `ports` are the ports of Services: by namespace and name, number to name."""

    def __init__(self, model: RoutingModel, ports: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        self._routes = compile_routes(model)
        self._ports = ports
        self._match = lru_cache(_REMEMBERED)(self._matched)
        self._facts: dict[int, tuple[Served, Foreseen]] = {}
        self.hosts = tuple(host.name for host in model.hosts)
        found: dict[str, dict[str, None]] = {}
        for host in model.hosts:
            for route in (*host.routes, *(() if host.default is None else (host.default,))):
                for branch in route.branches:
                    for name in self._names(branch):
                        found.setdefault(name, {})[host.name] = None
        self.hosts_of = {name: tuple(hosts) for name, hosts in found.items()}

    def foresee(self, host: str, logged: LoggedRequest, *, secure: bool) -> Foreseen:
        """What becomes of a request. `host` is a name as in the model or in a request."""
        match = self._match(host, logged.target.partition("?")[0])
        if match is None or isinstance(match, int):
            return Foreseen(404 if match is None else match)
        facts = self._facts_of(match.served)
        gates = match.served.secure_gates if secure else match.served.plain_gates
        if match.served.closed or not gates:
            return facts
        request = _head(host, logged)
        origin = Origin(peer=logged.client, entry_point=HTTPS if secure else HTTP)
        asked = Asked(request, origin, secure, match.captures)
        return self._judged(asked, gates, facts)

    def _led(self, asked: Asked, to: NewPath) -> Foreseen:
        """What becomes of a request whose path a snippet changes."""
        try:
            led = led_to(asked.request, to, PASSED)
            match = self._routes.match(led.host_name, led.path, led.onward)
        except Refusal as refusal:
            return Foreseen(ANSWERS[refusal.kind].status)
        if match is None:
            return Foreseen(404)
        facts = self._facts_of(match.served)
        gates = match.served.secure_gates if asked.secure else match.served.plain_gates
        if match.served.closed or not gates:
            return facts
        return self._judged(msgspec.structs.replace(asked, request=led, captures=match.captures), gates, facts)

    def _judged(self, asked: Asked, gates: Collection[Gate], facts: Foreseen) -> Foreseen:
        unknown = False
        for gate in gates:
            about = gate.describe()
            if not about.is_foreseen or (about.asks_address and not asked.origin.peer):
                unknown = True
                continue
            verdict = gate.judge(asked, _never)
            if isinstance(verdict, Deny):
                return facts._replace(status=ANSWERS[verdict.kind].status, unknown=unknown)
            if isinstance(verdict, NewPath):
                return self._led(asked, verdict)
            if isinstance(verdict, Reply):
                return facts._replace(status=verdict.status, unknown=unknown)
        return facts._replace(unknown=unknown)

    def _matched(self, host: str, path: str) -> Match | int | None:
        try:
            name = host_name(host.encode("latin-1")) if host and not host.startswith("*") else _example(host)
            raw = path.encode("latin-1")
            return self._routes.match(name, matchable_path(raw), raw)
        except Refusal as refusal:
            return ANSWERS[refusal.kind].status
        except UnicodeEncodeError:
            return 400

    def _facts_of(self, served: Served) -> Foreseen:
        known = self._facts.get(id(served))
        if known is None:
            route = served.route
            names = frozenset(name for branch in route.branches for name in self._names(branch))
            is_default = not route.owner.name  # the operator's
            if is_default or served.stand_ins is not None:
                names |= {DEFAULT_BACKEND}
            status = 0
            if served.closed:
                status = ANSWERS[served.closed_as].status
            elif route.main.backend is None:
                status = ANSWERS[route.main.error].status
            made = Foreseen(
                status,
                names,
                "the default backend" if is_default else f"{route.path} of {route.owner.full_name}",
                preflights=any(isinstance(rule, CorsPreflight) for rule in route.gates),
            )
            known = self._facts[id(served)] = served, made
        return known[1]

    def _names(self, branch: Branch) -> tuple[str, ...]:
        service, port = branch.service, (branch.backend or "").rpartition(":")[2]
        ports = self._ports.get((service.namespace, service.name), {})
        texts = {port, ports.get(port, ""), *(number for number, name in ports.items() if name == port)}
        return tuple(f"{service.namespace}-{service.name}-{text}" for text in sorted(texts - {""}))


def _head(host: str, logged: LoggedRequest) -> RequestHead:
    raw, name, fields = logged.target.encode("latin-1"), host.encode("latin-1"), _fields(logged)
    return RequestHead(
        method=logged.method.encode("latin-1", "replace"),
        authority=name,
        host_name=host_name(name) if name and not name.startswith(b"*") else _example(host),
        path=matchable_path(raw),
        target=raw,
        raw_target=raw,
        fields=fields,
        body_bytes=0,
        expects_continue=False,
        upgrade=b"",
        protocol="HTTP/1.1",
        head_bytes=0,
        repeated=Repeated(fields),
    )


def _fields(logged: LoggedRequest) -> Fields:
    agent, referer = logged.agent, logged.referer
    said = ((b"user-agent", agent), (b"referer", referer))
    return tuple((name, text.encode("utf-8", "replace")) for name, text in said if text)


def _example(host: str) -> bytes:
    """A name of a wildcard host; a host of all names has none."""
    return host.replace("*", "any", 1).encode("latin-1")


def _never(_: Verdict) -> None:
    raise AssertionError("a gate that is foreseen never waits")

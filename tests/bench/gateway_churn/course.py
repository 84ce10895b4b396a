"""The course of a run: two replicas on a fake API server, changes, kills, and what is true at the end."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter, defaultdict, deque
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.control.processes import Usage, usage, waited_seconds
from tests.bench.gateway_churn.clients import Asked, Clients, Seen, ask_once
from tests.bench.gateway_churn.objects import (
    COMING,
    FIRST_PORT,
    NAMESPACE,
    STAYING,
    Plan,
    gateway,
    gateway_class,
    route,
    service_of,
    services,
    slice_of,
)
from tests.bench.gateway_churn.steady import Places, Timed, steady
from tests.fakes.apiserver import ApiServer
from tests.features.gateway.api_stage import balance, free_range, furnish, options, target
from tests.integration.processes import workers
from tests.integration.running import Zonal

_POLL_SECONDS, _LOOK_SECONDS = 0.2, 0.5
_ROUTES_IN_A_SECOND = 2000  # a look at every status holds the loop of the API server
_STATUS_SECONDS = 300.0
_LISTENER_SECONDS, _KILL_SECONDS = 10.0, 15.0
_IN_USE_SECONDS = 10.0  # a version that was replaced longer ago is served by nobody


class Outcome(NamedTuple):
    """What a run has come to. `open_statuses` are objects whose status is not right at the end, `late_writes` the
    calls that write anything but a Lease while nothing changes, `killed_at` the kills with their seconds. `outdated`
    are routes that a replica does not answer for as they are at the end. `cores` is what each replica has used
    meanwhile, `waited` how many cores it was ready for and did not get. `calm` and `timed` are what the clients of the
    other process saw before the first change and after it, if nothing was killed.
    """

    seen: Seen
    changes: Counter[str]
    kills: Counter[str]
    killed_at: list[str]
    seconds_to_statuses: float
    open_statuses: list[str]
    late_writes: list[str]
    outdated: list[str]
    cores: list[Usage]
    waited: list[float]
    calm: Timed
    timed: Timed


class Replica:
    """One replica, which may be killed and started again at its address."""

    def __init__(self, place: Path, kubeconfig: Path, ports: tuple[int, int], number: int, plan: Plan) -> None:
        self.address, self._number = f"127.0.0.{number + 1}", number
        self._place = place / f"replica-{number}"
        self._place.mkdir()
        self._arguments = (
            *options(kubeconfig, ports, f"zonal-{number}"),
            f"--bind-address={self.address}",
            f"--workers={plan.workers}",
            "--drain-timeout=5",
            f"--time-scale={plan.time_scale}",
        )
        self.process = Zonal(self._place, *self._arguments)

    async def begin_again(self) -> None:
        """Starts it once more."""
        self.process = Zonal(self._place, *self._arguments)
        await self.process.is_serving()
        await self.process.is_ready()


class _Course:
    """The objects as they are now, and the replicas that serve them."""

    def __init__(self, plan: Plan, server: ApiServer, replicas: list[Replica], seed: int) -> None:
        self.plan, self.server, self.replicas = plan, server, replicas
        self.chance = random.Random(seed)
        self.versions = dict.fromkeys(range(plan.routes), 0)
        self.present = set(range(plan.routes))
        self.coming = list(range(plan.coming))
        self.changes: Counter[str] = Counter()
        self.kills: Counter[str] = Counter()
        self.killed_at: list[str] = []
        self.running = list(range(len(replicas)))
        self._places: dict[int, int] = {}
        self._replaced: defaultdict[int, deque[float]] = defaultdict(deque)  # when newer versions took their place
        self._looked_at = 0.0

    def furnish(self, ports: list[int]) -> None:
        plan = self.plan
        documents = [gateway_class(), gateway(STAYING, list(range(plan.coming, plan.listeners)))]
        documents += [gateway(COMING, self.coming), *services()]
        documents += [slice_of(service_of(each), ports[each % len(ports)]) for each in range(50)]
        for document in (*documents, *(route(plan, each, 0) for each in self.present)):
            self.server.put(document)

    def choose(self) -> Asked:
        number = self.chance.randrange(self.plan.routes)
        return Asked(number, self.plan.stays(number), self.plan.listener_of(number))

    def place_of(self, replica: int, listener: int) -> tuple[str, int]:
        return self.replicas[replica].address, self._places[listener]

    def places(self) -> Places:
        """Where the listeners are now."""
        return Places([each.address for each in self.replicas], [self._places[each] for each in sorted(self._places)])

    def look(self) -> None:
        """Does what a cluster does beside an API server: load balancers get addresses, and clients hear of ports."""
        if time.monotonic() - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = time.monotonic()
        balance(self.server)
        for each in range(self.plan.listeners):
            name = COMING if each < self.plan.coming else STAYING
            self._places[each] = target(self.server, FIRST_PORT + each, f"{NAMESPACE}/{name}")

    def versions_of(self, number: int) -> range:
        """Those that a route may have now: the newest, and all that it had a moment ago, which may still be in use."""
        newest = self.versions[number]
        before = time.monotonic() - _IN_USE_SECONDS
        replaced = self._replaced[number]
        while replaced and replaced[0] < before:
            replaced.popleft()
        return range(newest - len(replaced), newest + 1)

    async def change(self) -> None:
        """Changes routes at the pace of the plan, and listeners now and then."""
        begun, count, listeners_at = time.monotonic(), 0, time.monotonic() + _LISTENER_SECONDS
        while True:
            due = int((time.monotonic() - begun) * self.plan.changes)
            for _ in range(due - count):
                self._change_route()
            count = due
            if time.monotonic() >= listeners_at:
                listeners_at += _LISTENER_SECONDS
                self._change_listeners()
            self.look()
            await asyncio.sleep(0.05)  # the pace of changes

    def _change_route(self) -> None:
        number = self.chance.randrange(self.plan.routes)
        if self.plan.stays(number):
            return
        self.changes["routes"] += 1
        if number in self.present and self.chance.random() < 0.5:
            self.present.discard(number)
            return self.server.delete("HTTPRoute", NAMESPACE, f"r{number}")
        self.versions[number] += 1
        self._replaced[number].append(time.monotonic())
        known = self.server.get("HTTPRoute", NAMESPACE, f"r{number}") or {}
        document = route(self.plan, number, self.versions[number])
        self.server.put({**document, "status": known["status"]} if "status" in known else document)
        self.present.add(number)

    def _change_listeners(self) -> None:
        """One of the listeners that come and go, comes or goes."""
        self.changes["listeners"] += 1
        every = range(self.plan.coming)
        gone = [each for each in every if each not in self.coming]
        if gone and (len(self.coming) <= 1 or self.chance.random() < 0.5):
            self.coming = sorted([*self.coming, self.chance.choice(gone)])
        elif len(self.coming) > 1:
            self.coming.remove(self.chance.choice(self.coming))
        known = self.server.get("Gateway", NAMESPACE, COMING) or {}
        self.server.put({**gateway(COMING, self.coming), "status": known.get("status", {})})

    async def kill(self, seconds: float) -> None:
        """Kills a worker now and then, and at half time the replica that leads, which is started again."""
        begun, leader_at = time.monotonic(), seconds / 2
        while True:
            await asyncio.sleep(min(_KILL_SECONDS, seconds / 4))  # the pace of kills
            if time.monotonic() - begun >= leader_at and not self.kills["leader"]:
                await self._kill_leader()
                continue
            number = self.chance.choice(self.running)
            found = workers(self.replicas[number].process.pid)
            if found:
                with suppress(ProcessLookupError):
                    os.kill(self.chance.choice(found), signal.SIGKILL)
                self.kills["workers"] += 1
                self.killed_at.append(f"{time.monotonic() - begun:.1f} s: a worker of replica {number}")

    async def _kill_leader(self) -> None:
        lease = self.server.get("Lease", "zonal", "zonal-leader") or {}
        holder = str(lease.get("spec", {}).get("holderIdentity", "zonal-0"))
        number = int(holder.partition("zonal-")[2][:1] or 0)
        self.running.remove(number)
        self.kills["leader"] += 1
        begun = time.monotonic()
        self.replicas[number].process.kill()
        await self.replicas[number].begin_again()
        self.running.append(number)
        self.killed_at.append(f"replica {number} was the leader, and back after {time.monotonic() - begun:.1f} s")

    def open_statuses(self) -> list[str]:
        """The objects whose status does not say what is true of them."""
        attached = Counter(self.plan.listener_of(each) for each in self.present)
        found = [
            f"{name}: listener {each['name']} has {each['attachedRoutes']} routes"
            for name in (STAYING, COMING)
            for each in self._status("Gateway", name).get("listeners", ())
            if each["attachedRoutes"] != attached[int(each["name"][1:])]
        ]
        found += [
            name
            for name in (STAYING, COMING)
            if not _holds(self._status("Gateway", name), "Programmed", self._generation("Gateway", name))
        ]
        for number in self.present:
            known = self.server.get("HTTPRoute", NAMESPACE, f"r{number}") or {}
            parents = known.get("status", {}).get("parents", ())
            is_open = self.plan.listener_of(number) in {*self.coming, *range(self.plan.coming, self.plan.listeners)}
            generation = known["metadata"]["generation"]
            if len(parents) != 1 or _holds(parents[0], "Accepted", generation) != is_open:
                found.append(f"r{number}")
        return found

    async def outdated(self, replica: int) -> list[str]:
        """The routes that a replica does not answer for as they are."""
        found = []
        is_open = {*self.coming, *range(self.plan.coming, self.plan.listeners)}
        asked = [each for each in range(self.plan.routes) if self.plan.listener_of(each) in is_open]
        for number in asked:
            place = self.place_of(replica, self.plan.listener_of(number))
            wanted = (200, f"{number}.{self.versions[number]}") if number in self.present else (404, "-1.-1")
            if (answer := await ask_once(place, number)) != wanted:
                found.append(f"replica {replica}: route {number} answers {answer}, not {wanted}")
        return found

    def _status(self, kind: str, name: str) -> dict[str, Any]:
        return dict((self.server.get(kind, NAMESPACE, name) or {}).get("status", {}))

    def _generation(self, kind: str, name: str) -> int:
        return int((self.server.get(kind, NAMESPACE, name) or {"metadata": {}})["metadata"]["generation"])


def _holds(status: dict[str, Any], kind: str, generation: int) -> bool:
    found = [each for each in status.get("conditions", ()) if each["type"] == kind]
    return bool(found) and found[0]["status"] == "True" and found[0]["observedGeneration"] == generation


async def follow(plan: Plan, place: Path, seed: int = 1) -> Outcome:
    """Plays a run in the folder `place`."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer())
        beside = await stack.enter_async_context(steady())
        furnish(server)
        kubeconfig = server.write_kubeconfig(place / "kubeconfig")
        bound = free_range(plan.listeners + 8)
        replicas = [Replica(place, kubeconfig, bound, number, plan) for number in range(2)]
        for each in replicas:
            stack.callback(lambda each=each: each.process.kill())  # type: ignore[misc]
        course = _Course(plan, server, replicas, seed)
        course.furnish(beside.ports)
        for each in replicas:
            await each.process.is_serving()
            await each.process.is_ready()
        await _until_right(course)
        seen = Seen()
        clients = Clients(seen, course.choose, course.place_of, course.versions_of, course.running)
        load = asyncio.create_task(clients.run(plan.rate))
        if not plan.kills:
            await beside.begin(plan, course.places())
        await asyncio.wait([load], timeout=plan.calm_seconds)
        calm = await beside.timed()
        pids = [each.process.pid for each in replicas]
        before, begun = [(usage(each), waited_seconds(each)) for each in pids], time.monotonic()
        tasks = [load, asyncio.create_task(course.change())]
        if plan.kills:
            tasks.append(asyncio.create_task(course.kill(plan.seconds)))
        await asyncio.wait(tasks, timeout=plan.seconds, return_when=asyncio.FIRST_EXCEPTION)
        taken_seconds = time.monotonic() - begun
        timed = await beside.timed()
        after = [] if plan.kills else [(usage(each), waited_seconds(each)) for each in pids]
        pairs = [(was, now) for was, now in zip(before, after, strict=False)]
        for task in reversed(tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        taken = await _until_right(course)
        written = len(server.calls)
        await asyncio.sleep(plan.quiet_seconds)  # nothing may be written in this time
        late = [f"{call.verb} {call.path}" for call in server.calls[written:] if _writes(call.verb, call.resource)]
        outdated = [text for number in range(len(replicas)) for text in await course.outdated(number)]
        return Outcome(
            seen=seen,
            changes=course.changes,
            kills=course.kills,
            killed_at=course.killed_at,
            seconds_to_statuses=taken,
            open_statuses=course.open_statuses(),
            late_writes=late,
            outdated=outdated,
            cores=[_per(now[0].since(was[0]), taken_seconds) for was, now in pairs],
            waited=[(now[1] - was[1]) / taken_seconds for was, now in pairs],
            calm=calm,
            timed=timed,
        )


def _per(used: Usage, seconds: float) -> Usage:
    """How many cores that is."""
    return Usage(used.control / seconds, used.workers / seconds)


async def _until_right(course: _Course) -> float:
    """The seconds until every status is right, or until nobody waits any more."""
    begun = time.monotonic()
    while time.monotonic() - begun < _STATUS_SECONDS:
        course.look()
        if not course.open_statuses():
            break
        await asyncio.sleep(max(_POLL_SECONDS, course.plan.routes / _ROUTES_IN_A_SECOND))
    return time.monotonic() - begun


def _writes(verb: str, resource: str) -> bool:
    return verb in {"create", "update", "patch", "delete"} and resource != "leases"

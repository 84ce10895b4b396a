"""Runs the conversation of one replica: hears and tells others, and makes their totals count.

Adds clock, port and turns of the event loop to what the modules beside it decide. No request waits for anything here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from typing import Final, NamedTuple

import msgspec
from aiohttp import web

from ingress.replicas.facts import FleetFacts
from ingress.replicas.lines import Line, NotHeard, Teller
from ingress.replicas.messages import MessageRefusal, encoded_within
from ingress.replicas.other_replica import ReplicaState
from ingress.replicas.others import REPLICAS_MOST, OtherReplicas
from ingress.replicas.port import Ears, open_port
from ingress.replicas.sharing import Ends, FleetSharing
from ingress.replicas.spending import TICK_SECONDS
from ingress.replicas.telling import News, Telling
from ingress.replicas.trust import ReplicaCredentials

_LOG = logging.getLogger(__name__)

# Between two turns without limits that replicas share: half of what comes between two messages.
_CALM_SECONDS: Final = 0.25
# How often to look where other replicas are.
_FIND_SECONDS: Final = 1.0
_now = time.perf_counter  # the clock of picks


class ConversationOptions(NamedTuple):
    """Where to hear others, where others are (`HOST:PORT`), and what this replica calls itself."""

    address: str
    port: int
    places: tuple[str, ...]
    name: str


class _Addressee(msgspec.Struct):
    """One address of another replica."""

    line: Line
    telling: Telling
    identity: str = ""
    is_expired: bool = False
    is_own: bool = False
    sending: asyncio.Task[None] | None = None

    async def leave(self) -> None:
        """Nothing is told here any more."""
        sending = self.sending
        if sending is not None:
            sending.cancel()
            await asyncio.wait({sending})
        await self.line.close()


def _tell_flood(identity: str) -> None:
    _LOG.warning("replica %s tells more than is read of one: what is beyond is dropped", identity)


class Conversation:
    """The conversation of one replica. Must be made inside the running loop."""

    def __init__(self, options: ConversationOptions, credentials: ReplicaCredentials, ends: Ends) -> None:
        self._options = options
        self._credentials = credentials
        self._ends = ends
        self._members = OtherReplicas(credentials.identity, _tell_flood)
        self._sharing = FleetSharing(ends, credentials.identity)
        self._places: dict[str, _Addressee] = {}
        self._found_at = float("-inf")
        self._is_crowded = False
        self._counted = Counter[str]()
        self._bytes = Counter[str]()
        self._number = 0
        self._leaving: set[asyncio.Task[None]] = set()
        self._runner: web.AppRunner
        self._teller: Teller

    async def start(self) -> None:
        """Opens the port. Raises `CannotListen`."""
        options, credentials = self._options, self._credentials
        ears = Ears(self._hear, self._admit, self._refused)
        runner, port = await open_port(options.address, options.port, credentials=credentials, ears=ears)
        self._runner = runner
        self._teller = Teller(credentials)
        _LOG.info("other replicas are heard on port %d", port)

    async def run(self) -> None:
        """Converses without end. A turn that fails is logged, and the next one comes all the same."""
        while True:
            try:
                self._turn(_now())
            except Exception:
                _LOG.exception("the conversation with other replicas failed")
            await asyncio.sleep(TICK_SECONDS if self._sharing.limits.is_used else _CALM_SECONDS)

    async def close(self) -> None:
        """Ends all connections."""
        await asyncio.gather(*self._leaving, *(place.leave() for place in self._places.values()))
        await self._teller.close()
        await self._runner.cleanup()

    def told_about(self, service: str) -> list[str]:
        """What other replicas told about a Service, in sentences."""
        return self._sharing.told_about(service, [member for _, member in self._members.up(_now())])

    def facts(self) -> FleetFacts:
        """What is shown about the conversation now."""
        now = _now()
        states = self._members.states(now)
        up, distrusted = states[ReplicaState.UP], states[ReplicaState.DISTRUSTED]
        expected = sum(not place.is_own for place in self._places.values())
        silent = max(states[ReplicaState.SILENT], expected - up - distrusted)
        return FleetFacts(
            peers={"up": up, "silent": silent, "distrusted": distrusted},
            messages={result: self._counted[result] for result in ("heard", "sent", "failed")},
            refused={refusal.value: self._members.refused[refusal] for refusal in MessageRefusal},
            bytes={direction: self._bytes[direction] for direction in ("heard", "sent")},
            replicas=self._members.seen(now),
            sick_zones={event.zone: (event.sick, event.backends) for event in self._sharing.events.events},
            is_away=self._sharing.is_away,
            has_sick_links=self._sharing.links.judge.is_away,
        )

    def _hear(self, identity: str, data: bytes) -> str:
        now = _now()
        self._bytes["heard"] += len(data)
        member = self._members.hear(identity, data, now)
        self._counted["heard"] += 1
        self._sharing.hear(identity, member, now)
        return self._sharing.own_zone

    def _admit(self, identity: str) -> None:
        self._members.admit(identity, _now())

    def _refused(self, refusal: MessageRefusal) -> None:
        self._members.refused[refusal] += 1

    def _turn(self, now: float) -> None:
        self._members.forget(now)
        if now - self._found_at >= _FIND_SECONDS:
            self._found_at = now
            self._find()
        self._sharing.turn(dict(self._members.up(now)), now)
        if self._sharing.is_off:
            return
        for name, place in self._places.items():
            if place.sending is None and not place.is_own:
                news = place.telling.due(now)
                if news is not None:
                    place.sending = asyncio.create_task(self._tell(name, place, news))

    def _find(self) -> None:
        """Knows the places of all other replicas. What was told to one that is gone is forgotten."""
        known = sorted({*self._options.places, *self._ends.places()})
        wanted = frozenset(known[: REPLICAS_MOST + 1])  # the same ones in each replica, this one among them or not
        is_crowded = len(known) > len(wanted)
        if is_crowded is not self._is_crowded:
            self._is_crowded = is_crowded
            self._ends.crowded(is_crowded)
        for name in self._places.keys() - wanted:
            place = self._places.pop(name)
            leaving = asyncio.create_task(place.leave())
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
            if place.is_expired:
                self._tell_expired()
        for name in sorted(wanted - self._places.keys()):
            self._places[name] = _Addressee(self._teller.line(name), Telling(self._sharing))

    async def _tell(self, name: str, place: _Addressee, news: News) -> None:
        try:
            await place.line.open()
            self._number += 1
            message = place.telling.message(self._number, news, name=self._options.name, is_older=place.line.is_older)
            data = encoded_within(message)
            self._bytes["sent"] += len(data)
            heard = await place.line.tell(data)
            place.telling.arrived(heard.zone)
            if heard.identity != place.identity:
                place.telling.forget()  # another replica is there, or it has started anew
                place.identity = heard.identity
            self._counted["sent"] += 1
            self._note_expired(place, is_expired=False)
        except NotHeard as problem:
            place.telling.forget()  # messages before this one may not have come either
            if problem.is_own:
                place.is_own = True
                await place.line.close()
            self._counted["failed"] += not problem.is_own
            self._note_expired(place, is_expired=problem.is_expired)
            _LOG.debug("replica %s did not take a message: %s", name, problem)
        finally:
            place.sending = None

    def _note_expired(self, place: _Addressee, *, is_expired: bool) -> None:
        """Tells of a certificate that has expired, or is another one now."""
        if is_expired:
            self._refused(MessageRefusal.EXPIRED)
        if place.is_expired is not is_expired:
            place.is_expired = is_expired
            self._tell_expired()

    def _tell_expired(self) -> None:
        self._ends.expired(tuple(sorted(name for name, place in self._places.items() if place.is_expired)))

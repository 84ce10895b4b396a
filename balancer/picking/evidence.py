"""Counts what clients met at the endpoints of a backend lately, and by whom.

Nothing is counted for a good answer but the answer itself, until an endpoint fails. Then good answers count for their
clients, too, until the failures have faded. Does not know what follows from the counts. Time is an argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Final

from balancer.matching.clients import peer_key
from balancer.picking.comparing import Comparison, Score, row_least
from balancer.picking.ejections import NO_TESTIMONY, Testimony
from balancer.sharing.namesakes import Namesakes
from balancer.sharing.peers import NO_OTHERS
from balancer.sharing.zone_peers import PLACES

MEMORY_SECONDS: Final = 10.0
"""After so many seconds an answer has lost 63 % of its weight."""

_STEP_SECONDS = 0.1  # at least so long between two looks at all endpoints,
_STEP_SECONDS_EACH = 1e-4  # and so long for each of them, so that the looks cost about one per cent of a processor
_FAINT = 0.05  # of a failure is left: 30 s after one, 70 s after fifty
# Clients are told apart by `PLACES`, to which they are hashed. Of the places in use, a quarter may be left out.
_LOUD = 4
_PRESENT = 0.5  # of an answer makes a client present
_ALONE_SECONDS = 1.0  # in which others would have come
_OTHERS_MOST = 5.0  # good answers of other clients, as of one that looks by now and then, leave a single one believed

_NOBODY: Final[list[float]] = []  # one for all: lists of clients are replaced, not filled
_NO_CALLERS: Final = Namesakes()  # one for all, and nobody is noted there


class AnswerRecord:
    """What clients met at one endpoint since the first of the present failures of its backend.

    Only `Witness` changes it. `counted` is how many of the endpoint's `answers` are in `good`. `good` and `bad` answers
    fade. `good_by` and `bad_by` know which client met what, if this endpoint failed, or if another worker told so
    before `doubted_until`; else they are empty. `failed_for` knows who met the failures; None as long as nobody did.
    `blame` are the failures that count in a choice, as they were at `blamed_at`.
    """

    __slots__ = ("bad", "bad_by", "blame", "blamed_at", "counted", "doubted_until", "failed_for", "good", "good_by")

    def __init__(self, counted: int) -> None:
        self.counted = counted
        self.good = 0.0
        self.bad = 0.0
        self.blame = 0.0
        self.blamed_at = 0.0
        self.doubted_until = 0.0
        self.good_by = _NOBODY
        self.bad_by = _NOBODY
        self.failed_for: Namesakes | None = None

    def burden(self, now: float) -> float:
        """`blame` at `now`: it fades."""
        return self.blame * math.exp(min(self.blamed_at - now, 0.0) / MEMORY_SECONDS)


class Experience:
    """What is counted of one endpoint. Only `Witness` changes it, but for `answers`, the good ones since the beginning,
    and `heard_at`, when the endpoint answered last or a connection to it was made.

    `is_watched`: the clients of good answers count, because an endpoint of the backend failed lately. `met` is None
    while none did: thousands of endpoints never fail. `is_out`: the endpoint gets no requests, so that nothing counts.
    """

    __slots__ = ("answers", "heard_at", "is_out", "is_watched", "met")

    def __init__(self) -> None:
        self.answers = 0
        self.heard_at = -math.inf
        self.is_watched = False
        self.is_out = False
        self.met: AnswerRecord | None = None

    def burden(self, now: float) -> float:
        """Failures that count against the endpoint in a choice. They fade.

        Those that a few clients met beyond the others do not count, so that no client can keep others from an endpoint.
        """
        met = self.met
        return 0.0 if met is None or not met.blame else met.burden(now)

    def is_doubted(self, now: float) -> bool:
        """Whether another worker has met failures there lately."""
        return self.met is not None and now < self.met.doubted_until


class Witness:
    """What is known about the endpoints of one backend, since the first of the present failures."""

    __slots__ = ("_bad", "_callers", "_everyone", "_good", "_good_by", "_is_open", "_looked_at", "_place_of")

    def __init__(self, everyone: Collection[Experience], place_of: Callable[[bytes], int] = NO_OTHERS.place_of) -> None:
        """`everyone` does not change. `place_of` says where a client is counted, by its name: one of `PLACES`, the same
        in all workers.
        """
        self._everyone = everyone
        self._place_of = place_of
        self._is_open = False
        self._looked_at = 0.0
        self._good = 0.0
        self._bad = 0.0
        self._good_by = _NOBODY  # of all endpoints
        self._callers = _NO_CALLERS

    def follow(self, everyone: Collection[Experience]) -> None:
        """These are the endpoints from now on."""
        self._everyone = everyone
        if self._is_open:
            for one in self._everyone:
                _record_of(one)

    def note_answer(self, one: Experience, client: str, now: float) -> None:
        """A client got a good answer from an endpoint that is watched, which has counted it."""
        if self._is_open:
            self._look(now)
        if one.is_out:
            return
        met = one.met
        if met is None:
            return  # the last failures have just faded
        place = self._place(client, now)
        self._good_by[place] += 1.0
        if met.good_by:
            met.good_by[place] += 1.0

    def note_failure(self, one: Experience, client: str, now: float) -> None:
        """A client met a failure."""
        if self._is_open:
            self._look(now)
        if one.is_out:
            return
        if not self._is_open:
            self._open(now)
        met = _record_of(one)
        _tell_clients_apart(met)
        met.bad += 1.0
        self._bad += 1.0
        place = self._place(client, now)
        met.bad_by[place] += 1.0
        met.failed_for = met.failed_for or Namesakes()
        met.failed_for.note(place, client_name(client), now)
        met.blame = self._rest_of(one, NO_TESTIMONY).failures
        met.blamed_at = now

    def is_believed(self, one: Experience, seconds: float) -> bool:
        """Whether failures in a row, which requests may have caused, are the endpoint's own. They last for `seconds`.

        Several clients are believed, and one that got half as many good answers elsewhere. One that meets nothing else
        may provoke it, so that it is believed if nobody else came for long enough.
        """
        met = one.met
        if met is None:
            return False
        failing = [place for place, bad in enumerate(met.bad_by) if bad >= _PRESENT]
        is_several = len(failing) > 1 or any(2.0 * self._good_by[place] >= met.bad_by[place] for place in failing)
        return met.blame > 0.0 and (is_several or seconds >= _ALONE_SECONDS)

    def is_chance(self, one: Experience, failures: int) -> bool:
        """Whether so many failures in a row are no more than what the other endpoints have now and then."""
        _, others = self._scores(one)
        return failures < row_least(others)

    def doubt(self, one: Experience, now: float, until: float) -> None:
        """Another worker has met a failure there: until then what clients of this one meet counts, too."""
        if not self._is_open:
            self._open(now)
        if not one.is_out:
            met = _record_of(one)
            _tell_clients_apart(met)
            met.doubted_until = until

    def compare(self, one: Experience, told: Testimony = NO_TESTIMONY) -> Comparison:
        """The endpoint beside the others, as far as the last look at all of them knows; with what was `told` of it."""
        own, others = self._scores(one)
        return Comparison(_sum(own, told.own), self._rest_of(one, told), _sum(others, told.others))

    def testimony(self, one: Experience) -> Testimony:
        """What can be told to others of the endpoint."""
        own, others = self._scores(one)
        good_by, bad_by = _by_client(one)
        return Testimony(own, others, tuple(good_by), tuple(bad_by), tuple(self._good_by))

    def take_out(self, one: Experience) -> None:
        """The endpoint gets no requests from now on. What it does counts no more, and its past is forgotten."""
        self._forget(one)
        one.is_out = True
        one.is_watched = True

    def take_back(self, one: Experience) -> None:
        """The endpoint begins anew."""
        self._forget(one)

    def _forget(self, one: Experience) -> None:
        met = one.met
        if met is not None:
            self._good = max(self._good - met.good, 0.0)
            self._bad = max(self._bad - met.bad, 0.0)
        one.met = AnswerRecord(one.answers) if self._is_open else None
        one.is_out = False
        one.is_watched = False

    def _open(self, now: float) -> None:
        self._is_open = True
        self._looked_at = now
        self._good = 0.0
        self._bad = 0.0
        self._good_by = [0.0] * PLACES
        self._callers = Namesakes()
        for one in self._everyone:
            if not one.is_out:
                self._forget(one)
                one.is_watched = True

    def _look(self, now: float) -> None:
        """Fades what is known, and adds the answers of endpoints that do not fail, if it is time for that."""
        elapsed = now - self._looked_at
        if elapsed < max(_STEP_SECONDS, _STEP_SECONDS_EACH * len(self._everyone)):
            return
        self._looked_at = now
        weight = math.exp(-elapsed / MEMORY_SECONDS)
        good = bad = 0.0
        is_open = False
        for one in self._everyone:
            met = _record_of(one)
            if not one.is_out:
                _fade(met, one.answers, weight, now)
            met.counted = one.answers
            is_open = is_open or bool(met.bad_by)
            good, bad = good + met.good, bad + met.bad
        self._good = good
        self._bad = bad
        self._is_open = is_open
        self._good_by = [count * weight for count in self._good_by]
        for one in self._everyone:
            one.is_watched = is_open or one.is_out
        if not is_open:
            self._close()

    def _close(self) -> None:
        """The last failure has faded, so nothing is kept until the next one."""
        self._good = 0.0
        self._bad = 0.0
        self._good_by = _NOBODY
        self._callers = _NO_CALLERS
        for one in self._everyone:
            one.met = None

    def _place(self, client: str, now: float) -> int:
        """Where a client is counted that came at `now`. Only while something is counted."""
        name = client_name(client)
        place = self._place_of(name)
        self._callers.note(place, name, now)
        return place

    def _scores(self, one: Experience) -> tuple[Score, Score]:
        """What clients met at the endpoint, and at the others."""
        met = one.met
        if met is None:
            return Score(0.0, 0.0), Score(self._bad, self._good + self._bad)
        good, bad = met.good + one.answers - met.counted, met.bad
        return Score(bad, good + bad), Score(self._bad - bad, self._good - met.good + self._bad - bad)

    def _rest_of(self, one: Experience, told: Testimony) -> Score:
        """What is known of the endpoint without the quarter of its clients who met the most failures, one at least.

        A single client is believed if the good answers of the other endpoints are its own. If others got those, the
        endpoint would have failed them as well, had they come: then nobody but that client met failures. Where several
        clients have one place, they are believed if several of them met failures.
        """
        own_good_by, own_bad_by = _by_client(one)
        good_by, bad_by = _both(own_good_by, told.good_by), _both(own_bad_by, told.bad_by)
        present = [
            (bad, bad + good, place)
            for place, (good, bad) in enumerate(zip(good_by, bad_by, strict=True))
            if good + bad >= _PRESENT
        ]
        if len(present) == 1:
            failures, answers, place = present[0]
            everyone_by = _both(self._good_by, told.everyone_by)
            its_own = everyone_by[place]
            of_others = sum(everyone_by) - its_own
            is_believed = of_others < _OTHERS_MOST and of_others <= its_own and not self._blames_alone(one, place)
            return Score(failures if is_believed else 0.0, answers)
        present = sorted(present)[: -math.ceil(len(present) / _LOUD)]
        return Score(sum(each[0] for each in present), sum(each[1] for each in present))

    def _blames_alone(self, one: Experience, place: int) -> bool:
        """Whether one client met all failures of an endpoint, among several that are counted at this place.

        So it seems as well where clients of this worker get good answers only, and another worker tells of failures.
        """
        met = one.met
        if met is None:
            return False
        if met.failed_for is None:
            return bool(met.good_by) and met.good_by[place] >= _PRESENT
        return self._callers.are_several(place) and not met.failed_for.are_several(place)


def _record_of(one: Experience) -> AnswerRecord:
    """The record of an endpoint; made if there is none. An endpoint that has just come has no answers yet."""
    met = one.met
    if met is None:
        met = AnswerRecord(one.answers)
        one.met = met
    return met


def _by_client(one: Experience) -> tuple[Sequence[float], Sequence[float]]:
    """Good answers and failures of an endpoint, by client."""
    met = one.met
    return (_NOBODY, _NOBODY) if met is None else (met.good_by, met.bad_by)


def _fade(met: AnswerRecord, answers: int, weight: float, now: float) -> None:
    met.good = met.good * weight + answers - met.counted
    if not met.bad_by:
        return
    met.bad *= weight
    if met.bad < _FAINT and now >= met.doubted_until:
        met.bad = 0.0
        met.blame = 0.0
        met.good_by = _NOBODY
        met.bad_by = _NOBODY
        met.failed_for = None
        return
    met.good_by = [count * weight for count in met.good_by]
    met.bad_by = [count * weight for count in met.bad_by]
    met.blame = met.burden(now)
    met.blamed_at = now


def _tell_clients_apart(met: AnswerRecord) -> None:
    if not met.bad_by:
        met.good_by = [0.0] * PLACES
        met.bad_by = [0.0] * PLACES


def _sum(one: Score, other: Score) -> Score:
    return Score(one.failures + other.failures, one.answers + other.answers)


def _both(one: Sequence[float], other: Sequence[float]) -> Sequence[float]:
    """The sums by place. Whoever knows nothing has an empty sequence."""
    if not one or not other:
        return one or other
    return [mine + its for mine, its in zip(one, other, strict=True)]


def client_name(client: str) -> bytes:
    """What stands for a client: its address, of IPv6 the network, because a host there can use all addresses of it."""
    return peer_key(client) if ":" in client else client.encode()

"""Counts what clients met at the endpoints of a backend lately, and by whom.

Nothing is counted for a good answer but the answer itself, until an endpoint fails. Then good answers count for their
clients, too, until the failures have faded. Does not know what follows from the counts. Time is an argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from balancer.matching.clients import peer_key
from balancer.picking.comparing import Comparison, Score
from balancer.picking.ejections import NO_TESTIMONY, Testimony
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

_NOBODY: Final[list[float]] = []  # one for all: thousands of endpoints never fail, and a list is replaced, not filled


class Experience:
    """What clients met at one endpoint. Only `Witness` changes it, but for `answers`.

    `answers` counts good answers since the beginning, `counted` how many of them are in `good`. `good` and `bad`
    answers fade. `is_watched`: the clients of good answers count, because an endpoint of the backend failed lately.
    `good_by` and `bad_by` know which client met what, if this one failed, or if another worker told so before
    `doubted_until`; else they are empty. `is_out`: it gets no requests, so that nothing counts.
    """

    __slots__ = (
        "answers",
        "bad",
        "bad_by",
        "blame",
        "blamed_at",
        "counted",
        "doubted_until",
        "good",
        "good_by",
        "is_out",
        "is_watched",
    )

    def __init__(self) -> None:
        self.answers = 0
        self.counted = 0
        self.good = 0.0
        self.bad = 0.0
        self.blame = 0.0
        self.blamed_at = 0.0
        self.doubted_until = 0.0
        self.good_by = _NOBODY
        self.bad_by = _NOBODY
        self.is_watched = False
        self.is_out = False

    def burden(self, now: float) -> float:
        """Failures that count against the endpoint in a choice. They fade.

        Those that a few clients met beyond the others do not count, so that no client can keep others from an endpoint.
        """
        if not self.blame:
            return 0.0
        return self.blame * math.exp(min(self.blamed_at - now, 0.0) / MEMORY_SECONDS)


class Witness:
    """What is known about the endpoints of one backend, since the first of the present failures."""

    __slots__ = ("_bad", "_everyone", "_good", "_good_by", "_is_open", "_looked_at", "_place_of")

    def __init__(self, everyone: Iterable[Experience], place_of: Callable[[bytes], int] = NO_OTHERS.place_of) -> None:
        """`place_of` says where a client is counted, by its name: one of `PLACES`, the same in all workers."""
        self._everyone = tuple(everyone)
        self._place_of = place_of
        self._is_open = False
        self._looked_at = 0.0
        self._good = 0.0
        self._bad = 0.0
        self._good_by = [0.0] * PLACES  # of all endpoints

    def follow(self, everyone: Iterable[Experience]) -> None:
        """These are the endpoints from now on."""
        self._everyone = tuple(everyone)

    def note_answer(self, one: Experience, client: str, now: float) -> None:
        """A client got a good answer from an endpoint that is watched, which has counted it."""
        if self._is_open:
            self._look(now)
        if one.is_out:
            return
        place = self._place(client)
        self._good_by[place] += 1.0
        if one.good_by:
            one.good_by[place] += 1.0

    def note_failure(self, one: Experience, client: str, now: float) -> None:
        """A client met a failure."""
        if not self._is_open:
            self._open(now)
        self._look(now)
        if one.is_out:
            return
        _tell_clients_apart(one)
        one.bad += 1.0
        self._bad += 1.0
        one.bad_by[self._place(client)] += 1.0
        one.blame = self._rest_of(one, NO_TESTIMONY).failures
        one.blamed_at = now

    def is_believed(self, one: Experience, seconds: float) -> bool:
        """Whether failures in a row, which requests may have caused, are the endpoint's own. They last for `seconds`.

        Several clients are believed, and one that got half as many good answers elsewhere. One that meets nothing else
        may provoke it, so that it is believed if nobody else came for long enough.
        """
        failing = [place for place, bad in enumerate(one.bad_by) if bad >= _PRESENT]
        is_several = len(failing) > 1 or any(2.0 * self._good_by[place] >= one.bad_by[place] for place in failing)
        return one.blame > 0.0 and (is_several or seconds >= _ALONE_SECONDS)

    def doubt(self, one: Experience, now: float, until: float) -> None:
        """Another worker has met a failure there: until then what clients of this one meet counts, too."""
        if not self._is_open:
            self._open(now)
        if not one.is_out:
            _tell_clients_apart(one)
            one.doubted_until = until

    def compare(self, one: Experience, told: Testimony = NO_TESTIMONY) -> Comparison:
        """The endpoint beside the others, as far as the last look at all of them knows; with what was `told` of it."""
        own, others = self._scores(one)
        return Comparison(_sum(own, told.own), self._rest_of(one, told), _sum(others, told.others))

    def testimony(self, one: Experience) -> Testimony:
        """What can be told to others of the endpoint."""
        own, others = self._scores(one)
        return Testimony(own, others, tuple(one.good_by), tuple(one.bad_by), tuple(self._good_by))

    def take_out(self, one: Experience) -> None:
        """The endpoint gets no requests from now on. What it does counts no more, and its past is forgotten."""
        self._forget(one)
        one.is_out = True
        one.is_watched = True

    def take_back(self, one: Experience) -> None:
        """The endpoint begins anew."""
        self._forget(one)

    def _forget(self, one: Experience) -> None:
        self._good = max(self._good - one.good, 0.0)
        self._bad = max(self._bad - one.bad, 0.0)
        one.good = 0.0
        one.bad = 0.0
        one.blame = 0.0
        one.counted = one.answers
        one.good_by = _NOBODY
        one.bad_by = _NOBODY
        one.is_out = False
        one.is_watched = False

    def _open(self, now: float) -> None:
        self._is_open = True
        self._looked_at = now
        self._good = 0.0
        self._bad = 0.0
        self._good_by = [0.0] * PLACES
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
            if not one.is_out:
                _fade(one, weight, now)
            one.counted = one.answers
            is_open = is_open or bool(one.bad_by)
            good, bad = good + one.good, bad + one.bad
        self._good = good
        self._bad = bad
        self._is_open = is_open
        self._good_by = [count * weight for count in self._good_by]
        for one in self._everyone:
            one.is_watched = is_open or one.is_out

    def _place(self, client: str) -> int:
        return self._place_of(client_name(client))

    def _scores(self, one: Experience) -> tuple[Score, Score]:
        """What clients met at the endpoint, and at the others."""
        good, bad = one.good + one.answers - one.counted, one.bad
        return Score(bad, good + bad), Score(self._bad - bad, self._good - one.good + self._bad - bad)

    def _rest_of(self, one: Experience, told: Testimony) -> Score:
        """What is known of the endpoint without the quarter of its clients who met the most failures, one at least.

        A single client is believed if the good answers of the other endpoints are its own. If others got those, the
        endpoint would have failed them as well, had they come: then nobody but that client met failures.
        """
        good_by, bad_by = _both(one.good_by, told.good_by), _both(one.bad_by, told.bad_by)
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
            is_believed = of_others < _OTHERS_MOST and of_others <= its_own
            return Score(failures if is_believed else 0.0, answers)
        present = sorted(present)[: -math.ceil(len(present) / _LOUD)]
        return Score(sum(each[0] for each in present), sum(each[1] for each in present))


def _fade(one: Experience, weight: float, now: float) -> None:
    one.good = one.good * weight + one.answers - one.counted
    if not one.bad_by:
        return
    one.bad *= weight
    if one.bad < _FAINT and now >= one.doubted_until:
        one.bad = 0.0
        one.blame = 0.0
        one.good_by = _NOBODY
        one.bad_by = _NOBODY
        return
    one.good_by = [count * weight for count in one.good_by]
    one.bad_by = [count * weight for count in one.bad_by]
    one.blame = one.burden(now)
    one.blamed_at = now


def _tell_clients_apart(one: Experience) -> None:
    if not one.bad_by:
        one.good_by = [0.0] * PLACES
        one.bad_by = [0.0] * PLACES


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

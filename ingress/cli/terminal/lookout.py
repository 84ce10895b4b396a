"""Looks at the traffic of replicas again and again, for `zonal top`. Does not know how that is shown."""

from __future__ import annotations

from typing import Final

import msgspec

from ingress.admin.overview.document import Overview
from ingress.cli.terminal.asking import ask_all
from ingress.cli.terminal.ranking import Choice
from ingress.cli.terminal.rates import Pair, TrafficRates, traffic
from ingress.cli.terminal.views import AdminReply
from ingress.findings import printable

_PARTS_OF_TOP: Final = ("flows", "services", "fleet")
_PROBLEM_LIMIT: Final = 1000
_NOBODY: Final = ": start zonal there, or use kubectl zonal for a cluster"


class CannotShow(Exception):
    """Nobody answers, or the terminal cannot show it. The text is one line that says what to change."""


class TopOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to ask, and what is shown: `output` is text, json or yaml. Two documents are `interval_seconds` apart."""

    admins: tuple[str, ...]
    choice: Choice = Choice()
    output: str = "text"
    interval_seconds: float = 1.0
    once: bool = False


class Lookout:
    """Asks again and again, and remembers the last document of each replica.

    `problems` are those of the last time, and `answers` all of the last time.
    """

    def __init__(self, options: TopOptions) -> None:
        self.problems: list[AdminReply] = []
        self.answers: list[AdminReply] = []
        self._admins = options.admins
        self._last: dict[str, Overview] = {}

    def look(self) -> TrafficRates:
        """The rates since the last look. Raises `CannotShow` if no replica answers."""
        answers = ask_all(self._admins, _PARTS_OF_TOP)
        self.answers = answers
        self.problems = [answer for answer in answers if answer.overview is None]
        if len(self.problems) == len(answers):
            raise CannotShow(told_problem(answers[0]))
        pairs: list[Pair] = []
        for answer in answers:
            if answer.overview is not None:
                pairs.append((self._last.get(answer.admin), answer.overview))
                self._last[answer.admin] = answer.overview
        return traffic(pairs)


def told_problem(answer: AdminReply) -> str:
    """Why a replica says nothing, in one line that can be printed."""
    hint = _NOBODY if answer.problem == "connection refused" else ""
    return printable(f"--admin {answer.admin}: {answer.problem}{hint}", limit=_PROBLEM_LIMIT)

"""A run: every case with its contenders in turn, A B C A B C, so that what the machine does meanwhile hits all.

A contender that cannot take part is written down with the reason, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.bench.peers.cases import Case, rounds
from tests.bench.peers.measuring import Measuring
from tests.bench.peers.processes import Failed
from tests.bench.peers.samples import Absence, Measure, Sample
from tests.bench.peers.wrk import Unreadable

Tell = Callable[[str], None]


class Alternating:
    """Samples and absences as they come; `tell` gets a line for each."""

    def __init__(self, measuring: Measuring, tell: Tell) -> None:
        self._measuring, self._tell = measuring, tell
        self.samples: list[Sample] = []
        self.absences: list[Absence] = []

    def run(self, cases: Iterable[Case], contenders: Iterable[str], *, wanted_rounds: int, is_quick: bool) -> None:
        """Everything in the order of the cases."""
        wanted = set(contenders)
        for case in cases:
            taking_part = [name for name in case.contenders if name in wanted]
            self._tell(f"{case.name}: {case.title}")
            taking_part = [name for name in taking_part if self._is_warm(case, name)]
            for number in range(rounds(case, wanted_rounds, is_quick=is_quick)):
                for name in taking_part:
                    self._sample(case, name, number)

    def _is_warm(self, case: Case, name: str) -> bool:
        try:
            self._measuring.warm(case, name)
        except (Failed, Unreadable) as error:
            self._miss(case, name, error)
            return False
        return True

    def _sample(self, case: Case, name: str, number: int) -> None:
        try:
            figures = self._measuring.measure(case, name)
        except (Failed, Unreadable) as error:
            self._miss(case, name, error)
            return
        self.samples.append(Sample(case=case.name, contender=name, round=number, figures=figures))
        told = (f"{measure.value} {figures[measure.value]:.2f}" for measure in Measure if measure.value in figures)
        self._tell(f"  {name:<17} {', '.join(told)}")

    def _miss(self, case: Case, name: str, error: Exception) -> None:
        self.absences.append(Absence(name, str(error), case.name))
        self._tell(f"  {name:<17} {error}")

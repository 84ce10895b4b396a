"""What happens in a process from its first moment: Python runs `sitecustomize` before anything of ours.

Responsible for making workers fail at their start at will, and for noting what a process imports and opens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.integration.processes import WORKER

_FAILING = """\
import os, sys
if {worker!r} in sys.orig_argv and os.path.exists({switch!r}):
    with open({starts!r}, "a") as starts:
        starts.write("x")
    os._exit({status})
"""

_NOTING = """\
import json, os, sys
notes = open(os.path.join({place!r}, "notes-%d" % os.getpid()), "a", buffering=1)
def note(event, arguments):
    if event in ("import", "open"):
        notes.write(json.dumps([event, str(arguments[0])]) + "\\n")
sys.addaudithook(note)
"""


class FailingStarts:
    """Workers of a process with this `environment` end at once with a status while the switch is on."""

    STATUS = 3

    def __init__(self, place: Path) -> None:
        self._switch, self._starts = place / "switch", place / "starts"
        self.environment = _customized(
            place,
            _FAILING.format(
                worker=WORKER.decode(), switch=str(self._switch), starts=str(self._starts), status=self.STATUS
            ),
        )

    def turn(self, *, on: bool) -> None:
        if on:
            self._switch.touch()
        else:
            self._switch.unlink()

    @property
    def count(self) -> int:
        """How many have started and failed."""
        return self._starts.stat().st_size if self._starts.exists() else 0


class Notes:
    """What each process with this `environment` imports and which files it opens (PEP 578)."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.environment = _customized(place, _NOTING.format(place=str(place)))

    def imported(self, pid: int) -> set[str]:
        """Modules that were looked for, in dotted names."""
        return {what for event, what in self._of(pid) if event == "import"}

    def opened(self, pid: int) -> set[str]:
        """Files as they were named; a number is a descriptor."""
        return {what for event, what in self._of(pid) if event == "open"}

    def _of(self, pid: int) -> Iterator[tuple[str, str]]:
        for line in (self._place / f"notes-{pid}").read_text().splitlines():
            event, what = json.loads(line)
            yield event, what


def _customized(place: Path, source: str) -> Mapping[str, str]:
    (place / "sitecustomize.py").write_text(source)
    return {"PYTHONPATH": str(place)}

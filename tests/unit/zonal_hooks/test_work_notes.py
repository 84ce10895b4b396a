"""The note of a process of isolated hooks, as its worker reads it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator

import pytest

from tests.unit.zonal_hooks.test_messages import request
from zonal_hooks.calling import Running, begin
from zonal_hooks.loading import load_text
from zonal_hooks.verdicts import Denied, Verdict
from zonal_hooks.work_notes import NotingWatch, WorkNote, note_file


@pytest.fixture
def notes() -> Iterator[tuple[WorkNote, WorkNote]]:
    """The note as the process has it, and as its worker has it."""
    file = note_file()
    try:
        yield WorkNote(file), WorkNote(file)
    finally:
        os.close(file)


def watched(body: str, note: WorkNote) -> tuple[Verdict | Running, list[int]]:
    """What a hook with this body says first, and what the note says each time that it calls `see`."""
    seen: list[int] = []
    text = f"import asyncio\nfrom zonal_hooks import Deny, hook\n@hook\nasync def request(r):\n    {body}\n"
    function = load_text("x", text).functions["request"]
    function.call.__globals__["see"] = lambda: seen.append(note.read().call)
    return begin(function, request(), None, NotingWatch(note, 7)), seen


def test_a_new_note_names_no_call(notes: tuple[WorkNote, WorkNote]) -> None:
    assert notes[1].read().call == 0


def test_it_says_since_when(notes: tuple[WorkNote, WorkNote]) -> None:
    before = time.monotonic()
    notes[0].write(7)
    assert before <= notes[1].read().since <= time.monotonic()


async def test_the_note_names_the_call_while_it_computes(notes: tuple[WorkNote, WorkNote]) -> None:
    ours, theirs = notes
    told, seen = watched("see(); return Deny(451)", ours)
    assert (told, seen, theirs.read().call) == (Denied(451), [7], 0)


async def test_the_note_names_the_call_in_each_step_and_not_while_it_waits(notes: tuple[WorkNote, WorkNote]) -> None:
    ours, theirs = notes
    told, seen = watched("see(); await asyncio.sleep(0); see(); return Deny(451)", ours)
    assert isinstance(told, Running)
    assert theirs.read().call == 0
    answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
    told.wait(5.0, request(), answer.set_result)
    assert await answer == Denied(451)
    assert (seen, theirs.read().call) == ([7, 7], 0)

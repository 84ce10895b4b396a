"""The process of isolated hooks, asked over its socket."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence

import msgspec
import pytest

from tests.unit.zonal_hooks.test_talking import CALL
from zonal_hooks.host import Host, message_of
from zonal_hooks.manifests import Asked
from zonal_hooks.messages import Response
from zonal_hooks.talking import FROM_HOST, Answer, Begin, Begun, Call, Frames, framed
from zonal_hooks.verdicts import Denied, Failed, Passed
from zonal_hooks.work_notes import WorkNote, note_file

TEXT = """
import asyncio
from zonal_hooks import Deny, hook
@hook(isolated=True, timeout="50ms")
async def request(request):
    if request.path == "/wait":
        await asyncio.sleep(60)
    return Deny(451)
@hook(isolated=True)
def response(response):
    response.set_header("x-a", response.request.method)
"""


async def said(messages: Sequence[Begin | Call], answers: int) -> list[Begun | Answer]:
    """What a host says to these messages, until it has said so much."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    file = note_file()
    note = WorkNote(file)
    os.close(file)
    loop, frames, heard = asyncio.get_running_loop(), Frames(), list[Begun | Answer]()
    with ours, theirs:
        serving = asyncio.create_task(
            Host(theirs, note, confine_by=lambda _: ("as a test",), grant=lambda _: None).run()
        )
        for message in messages:
            await loop.sock_sendall(ours, framed(message))
        while len(heard) < answers:
            heard += [FROM_HOST.decode(body) for body in frames.feed(await loop.sock_recv(ours, 65536))]
        ours.shutdown(socket.SHUT_WR)
        await serving
    assert note.read().call == 0, "it works at nothing"
    return heard


BEGIN = Begin((Asked("tenant", "tenant.py", TEXT), Asked("sick", "sick.py", "1/0")))


async def test_it_says_which_hooks_it_has() -> None:
    (begun,) = await said([BEGIN], 1)
    assert begun == Begun((("sick", "sick.py, line 1: ZeroDivisionError: division by zero"),), ("as a test",))


async def test_it_answers_calls() -> None:
    calls = [
        msgspec.structs.replace(CALL, settings=""),
        msgspec.structs.replace(CALL, number=8, settings="", phase="response", status=200),
        msgspec.structs.replace(CALL, number=9, settings="", path=b"/wait"),
        msgspec.structs.replace(CALL, number=10, settings="", hook="sick"),
        msgspec.structs.replace(CALL, number=11, settings="{}"),
    ]
    heard = await said([BEGIN, *calls], 6)
    verdicts = {each.number: each.verdict for each in heard if isinstance(each, Answer)}
    assert verdicts[7] == Denied(451)
    assert isinstance(verdicts[8], Passed)
    assert verdicts[8].edits.added == ((b"x-a", b"GET"),)
    outcomes = [each.outcome for number in (9, 10, 11) if isinstance(each := verdicts[number], Failed)]
    assert outcomes == ["timeout", "unavailable", "invalid"]


@pytest.mark.parametrize("phase", ["request", "pick", "response"])
def test_a_call_becomes_its_message(phase: str) -> None:
    message = message_of(msgspec.structs.replace(CALL, phase=phase, status=404, answered=((b"x-b", b"1"),)))
    assert isinstance(message, Response) is (phase == "response")
    assert message.headers[("x-b" if phase == "response" else "x-a")] == ("1" if phase == "response" else "\xff")

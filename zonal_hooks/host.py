"""Runs isolated hooks: a process of their own, which a worker starts, asks over a Unix socket, and kills.

`python -m zonal_hooks.host SOCKET NOTE`, both of them descriptors.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from zonal_hooks.calling import Running, begin
from zonal_hooks.limits import Limits, confine, end_with_parent, grant_cpu
from zonal_hooks.loading import Hook, NotAHook
from zonal_hooks.manifests import load
from zonal_hooks.messages import Message, Request, Response
from zonal_hooks.talking import (
    TO_HOST,
    Answer,
    Begin,
    Begun,
    Call,
    Frames,
    framed,
)
from zonal_hooks.verdicts import Failed, Verdict
from zonal_hooks.work_notes import NotingWatch, WorkNote

_READ_BYTES: Final = 256 * 1024
_SETTINGS_KEPT: Final = 1024


class Host:
    """Answers the calls of one worker, in order, until the socket ends."""

    def __init__(
        self,
        channel: socket.socket,
        note: WorkNote,
        confine_by: Callable[[Limits], tuple[str, ...]] = confine,
        grant: Callable[[int], None] = grant_cpu,
    ) -> None:
        """`note` says at which call it works. `confine_by` bounds this process for good, and `grant` lets it use some
        seconds of CPU for a call.
        """
        self._channel = channel
        self._note = note
        self._confine = confine_by
        self._grant = grant
        self._frames = Frames()
        self._hooks: dict[str, Hook] = {}
        self._settings: dict[tuple[str, str], Any] = {}
        self._limits = Limits()
        self._ended = asyncio.Event()
        self._waiting: set[Running] = set()

    async def run(self) -> None:
        """Serves until the worker closes the socket."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._channel, self._read)
        await self._ended.wait()
        loop.remove_reader(self._channel)

    def _read(self) -> None:
        data = self._channel.recv(_READ_BYTES)
        if not data:
            self._ended.set()
            return
        for body in self._frames.feed(data):
            self._hear(TO_HOST.decode(body))

    def _hear(self, message: Begin | Call) -> None:
        if isinstance(message, Begin):
            self._begin(message)
        else:
            self._call(message)

    def _begin(self, message: Begin) -> None:
        self._limits = message.limits
        unconfined = self._confine(message.limits)
        problems = []
        for asked in message.hooks:
            try:
                self._hooks[asked.name] = load(asked)
            except NotAHook as problem:
                problems.append((asked.name, str(problem)))
        self._say(Begun(tuple(problems), unconfined))

    def _call(self, call: Call) -> None:
        self._note.write(call.number)
        self._work(call)
        self._note.write(0)

    def _work(self, call: Call) -> None:
        self._grant(self._limits.cpu_seconds)
        hook = self._hooks.get(call.hook)
        function = hook.functions.get(call.phase) if hook is not None else None
        if hook is None or function is None:
            return self._answer(call.number, Failed("unavailable", "it is not loaded"))
        try:
            settings = self._settings_of(hook, call.settings)
        except NotAHook as problem:
            return self._answer(call.number, Failed("invalid", str(problem)))
        message = message_of(call)
        told = begin(function, message, settings, NotingWatch(self._note, call.number))
        if isinstance(told, Running):
            self._waiting.add(told)
            told.wait(function.declared.timeout, message, partial(self._waited, call.number, told))
        else:
            self._answer(call.number, told)

    def _waited(self, number: int, running: Running, verdict: Verdict) -> None:
        self._waiting.discard(running)
        self._answer(number, verdict)

    def _settings_of(self, hook: Hook, text: str) -> Any:
        key = (hook.name, text)
        if key not in self._settings:
            if len(self._settings) >= _SETTINGS_KEPT:
                self._settings.clear()
            self._settings[key] = hook.settings(text)
        return self._settings[key]

    def _answer(self, number: int, verdict: Verdict) -> None:
        self._say(Answer(number, verdict))

    def _say(self, message: Answer | Begun) -> None:
        self._channel.sendall(framed(message))


def message_of(call: Call) -> Message:
    """The message that a call is about."""
    request = Request(
        call.fields,
        call.method,
        call.authority,
        call.path,
        call.target,
        call.client,
        call.is_tls,
        call.id,
        call.route,
        call.body,
    )
    if call.phase == "response":
        request.end()
        return Response(call.answered, call.status, request)
    if call.phase == "pick":
        request.allow_choice()
    return request


def main() -> None:
    """Serves the socket whose descriptor is the first argument, with the note of the second one."""
    end_with_parent()
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.setblocking(True)
    asyncio.run(Host(channel, WorkNote(int(sys.argv[2]))).run())
    os._exit(0)


if __name__ == "__main__":
    main()

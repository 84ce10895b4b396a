"""Tries a hook without the proxy. `zonal_hooks.plugin` has the pytest fixture."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from zonal_hooks.calling import Running, Watch, begin
from zonal_hooks.headers import Field, Headers, checked_value
from zonal_hooks.loading import Function, Hook, NotAHook, load_text, name_of_file
from zonal_hooks.messages import NO_CHOICE, Choice, Edits, Message, Request, Response
from zonal_hooks.verdicts import Denied, Failed, Passed, Replied, Verdict

FieldsSaid = Mapping[str, str] | Iterable[tuple[str, str]]
"""Fields as a test writes them. Pairs may name a field several times."""

_NO_FIELDS: FieldsSaid = ()


class Tried(msgspec.Struct, frozen=True):
    """What became of a message. `status` None: it goes on, with `headers`; else the hook answered with `body`.

    `problem` says why the hook failed; then `status` is 503, or None for a hook that lets pass. `choice` is that of a
    `pick` hook.
    """

    status: int | None
    headers: Headers
    body: bytes = b""
    problem: str = ""
    choice: Choice = NO_CHOICE

    @property
    def passed(self) -> bool:
        """Whether the message goes on."""
        return self.status is None


class TriedHook:
    """A hook with settings, which can be asked about messages."""

    def __init__(self, hook: Hook, settings: Any) -> None:
        self.hook = hook
        self._settings = settings

    def request(
        self,
        line: str,
        headers: FieldsSaid = _NO_FIELDS,
        *,
        client: str = "192.0.2.1",
        body: bytes | None = None,
    ) -> Tried:
        """Asks about a request such as `GET https://shop.test/cart?id=7`: `request`, then `pick`.

        A hook that asks for bodies gets an empty one if `body` is None.
        """
        if body is None and self.hook.takes_body:
            body = b""
        asked = request_of(line, headers, client=client, body=body)
        told = Tried(None, asked.headers)
        for phase in ("request", "pick"):
            if phase in self.hook.functions and told.passed:
                said = self._tried(phase, asked)
                told = msgspec.structs.replace(said, choice=said.choice if phase == "pick" else told.choice)
                asked = request_of(line, told.headers, client=client, body=body)
        return told

    def response(
        self,
        status: int = 200,
        headers: FieldsSaid = _NO_FIELDS,
        *,
        line: str = "GET https://shop.test/",
        request_headers: FieldsSaid = _NO_FIELDS,
        client: str = "192.0.2.1",
    ) -> Tried:
        """Asks about a response to the request in `line`, which came from `client` with `request_headers`."""
        request = request_of(line, request_headers, client=client)
        request.end()
        return self._tried("response", Response(_fields(headers), status, request))

    def _tried(self, phase: str, message: Message) -> Tried:
        if phase == "pick" and isinstance(message, Request):
            message.allow_choice()
        function = self.hook.functions[phase]
        return _told(called(function, message, self._settings), message, function.declared.on_error)


def called(function: Function, message: Message, settings: Any) -> Verdict:
    """What a function of a hook says of a message. Waits for it, as long as its timeout says."""
    return asyncio.run(_verdict(function, message, settings))


def try_file(path: Path, settings: Mapping[str, Any] | str = "") -> TriedHook:
    """The hook in a file, with settings as a mapping or as JSON. Raises `NotAHook` and OSError."""
    hook = load_text(name_of_file(path.name), path.read_text(encoding="utf-8"), str(path))
    text = settings if isinstance(settings, str) else msgspec.json.encode(settings).decode()
    made = hook.settings(text)
    if made is not None:
        _refuse_misspelt(hook.name, made, text)
    return TriedHook(hook, made)


def _refuse_misspelt(name: str, made: msgspec.Struct, text: str) -> None:
    """Raises `NotAHook` for a setting that nobody knows, as zonal does when a route selects the hook."""
    known = {each.encode_name for each in msgspec.structs.fields(made)}
    said = msgspec.json.decode(text or "{}")
    unknown = [] if not isinstance(said, dict) else sorted(said.keys() - known - {made.__struct_config__.tag_field})
    if unknown:
        raise NotAHook(
            f"the settings do not fit hook {name}: there is no {unknown[0]!r}, only {', '.join(sorted(known))}"
        )


async def _verdict(function: Function, message: Message, settings: Any) -> Verdict:
    told = begin(function, message, settings, Watch())
    if not isinstance(told, Running):
        return told
    answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
    told.wait(function.declared.timeout, message, answer.set_result)
    return await answer


def request_of(line: str, headers: FieldsSaid, *, client: str = "192.0.2.1", body: bytes | None = None) -> Request:
    """The request that `line` (method and URL) describes. Raises `NotAHook` for another line."""
    method, _, url = line.strip().rpartition(" ")
    parts = urlsplit(url)
    if not method or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise NotAHook(f"{line!r} is no request: write METHOD http(s)://HOST/PATH")
    path = (parts.path or "/").encode()
    target = path + (b"?" + parts.query.encode() if parts.query else b"")
    fields = _fields(headers)
    return Request(
        fields, method.encode(), parts.netloc.encode(), path, target, client, parts.scheme == "https", b"", "", body
    )


def _fields(headers: FieldsSaid) -> tuple[Field, ...]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple((name.lower().encode("ascii"), checked_value(value)) for name, value in pairs)


def _told(verdict: Verdict, message: Message, on_error: str) -> Tried:
    match verdict:
        case Passed():
            return Tried(None, with_edits(message.headers, verdict.edits), choice=verdict.choice)
        case Denied():
            return Tried(verdict.status, Headers())
        case Replied():
            fields = tuple((name.lower(), value) for name, value in verdict.fields)
            return Tried(verdict.status, Headers(fields), verdict.body)
        case Failed():
            problem = f"{verdict.outcome}: {verdict.why}"
            return Tried(None if on_error == "pass" else 503, message.headers, problem=problem)


def with_edits(headers: Headers, edits: Edits) -> Headers:
    """`headers` with the edits of a hook."""
    kept = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    kept = [field for field in kept if field[0] not in edits.removed]
    return Headers((*kept, *((name.lower(), value) for name, value in edits.added)))

"""One call to the API server, as the writers need it.

Responsible for the narrow view of a client that writers have, for time limits that hold whatever the client does, and
for telling an answer from none. It must not know which client it is, nor what is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from ingress.findings import printable

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"

CALL_SECONDS = 10.0
"""The limit of a write. A leader stops 15 s before its lease runs out for others, so its last write ends in time."""

# The pods and nodes of a large cluster fit many times; what is longer is no answer to anything we ask.
_BODY_LIMIT_BYTES = 16 * 1024 * 1024
_PROBLEM_LIMIT = 300  # characters of a problem: a line of a log, not a page


class Reply(Protocol):
    """The answer of an `Api` while its connection is open."""

    @property
    def status(self) -> int: ...

    @property
    def retry_after_seconds(self) -> float | None: ...

    async def read(self, limit_bytes: int = ...) -> bytes: ...


class Api(Protocol):
    """A client of one API server; statuses are returned and never raised."""

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = ...,
        body: bytes | None = None,
        content_type: str = ...,
        total_timeout_seconds: float | None = ...,
    ) -> AbstractAsyncContextManager[Reply]: ...

    async def refresh_credentials(self) -> None: ...


class NoAnswer(Exception):
    """No usable answer came; the text is one line. Whether the server carried the call out is not known."""


class Answer(msgspec.Struct, frozen=True):
    """What the server said. `retry_after_seconds` is what a 429 or 503 asks for, if it does."""

    status: int
    body: bytes = b""
    retry_after_seconds: float | None = None

    @property
    def is_success(self) -> bool:
        """Whether the server did what was asked."""
        return 200 <= self.status < 300

    @property
    def problem(self) -> str:
        """One line about a status that is no success, with the words of the server (meta/v1 Status) if it has any."""
        try:
            message = msgspec.json.decode(self.body, type=_Status).message
        except (msgspec.DecodeError, UnicodeDecodeError):
            message = ""
        return printable(f"HTTP {self.status}: {message}" if message else f"HTTP {self.status}", limit=_PROBLEM_LIMIT)


class _Status(msgspec.Struct):
    message: str = ""


async def ask(
    api: Api,
    method: str,
    path: str,
    *,
    query: Mapping[str, str] | None = None,
    body: bytes | None = None,
    content_type: str = JSON,
    timeout_seconds: float = CALL_SECONDS,
) -> Answer:
    """One call and its whole answer within `timeout_seconds`; a 401 is tried once more with the token read anew.

    Raises `NoAnswer` for whatever else keeps an answer away: a writer must outlive any failure of its client.
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            for last in (False, True):
                async with api.request(
                    method,
                    path,
                    query=query or {},
                    body=body,
                    content_type=content_type,
                    total_timeout_seconds=timeout_seconds,
                ) as reply:
                    answer = Answer(reply.status, await reply.read(_BODY_LIMIT_BYTES), reply.retry_after_seconds)
                if answer.status != 401 or last:
                    break
                await api.refresh_credentials()
    except TimeoutError:
        raise NoAnswer("no answer in time") from None
    except Exception as error:
        raise NoAnswer(printable(str(error) or type(error).__name__, limit=_PROBLEM_LIMIT)) from error
    return answer

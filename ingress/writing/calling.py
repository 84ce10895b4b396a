"""Calls the API server for the writers, within a time limit.

Defines the narrow view of a client that writers need. The time limit holds whatever the client does. Tells an answer
from no answer. Does not know which client it calls, nor what is written.
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
"""The time limit of a write. A leader stops 15 s before others may take its lease, so its last write ends in time."""

# The pods and nodes of a large cluster take a fraction of this. A longer body cannot be an answer to any of our calls.
_BODY_LIMIT_BYTES = 16 * 1024 * 1024
_PROBLEM_LIMIT = 300  # characters; a problem fits on a log line


class ApiReply(Protocol):
    """The answer of an `Api` while its connection is open."""

    @property
    def status(self) -> int: ...

    @property
    def retry_after_seconds(self) -> float | None: ...

    async def read(self, limit_bytes: int = ...) -> bytes: ...


class Api(Protocol):
    """A client of one API server. It returns HTTP statuses and does not raise them."""

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = ...,
        body: bytes | None = None,
        content_type: str = ...,
        total_timeout_seconds: float | None = ...,
    ) -> AbstractAsyncContextManager[ApiReply]: ...

    async def refresh_credentials(self) -> None: ...


class NoApiAnswer(Exception):
    """No usable answer came; the text is one line. Whether the server carried out the call is unknown."""


class ApiAnswer(msgspec.Struct, frozen=True):
    """The answer of the server. `retry_after_seconds` is the wait that a 429 or 503 asks for, or None."""

    status: int
    body: bytes = b""
    retry_after_seconds: float | None = None

    @property
    def is_success(self) -> bool:
        """Whether the server did what the call asked for."""
        return 200 <= self.status < 300

    @property
    def problem(self) -> str:
        """One line about an unsuccessful status, with the message of the server (meta/v1 Status) if there is one."""
        try:
            message = msgspec.json.decode(self.body, type=_StatusMessage).message
        except (msgspec.DecodeError, UnicodeDecodeError):
            message = ""
        return printable(f"HTTP {self.status}: {message}" if message else f"HTTP {self.status}", limit=_PROBLEM_LIMIT)


class _StatusMessage(msgspec.Struct):
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
) -> ApiAnswer:
    """Makes one call and reads its whole answer within `timeout_seconds`. Retries a 401 once, with a fresh token.

    Raises `NoApiAnswer` for every other failure, because a writer must survive any failure of its client.
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
                    answer = ApiAnswer(reply.status, await reply.read(_BODY_LIMIT_BYTES), reply.retry_after_seconds)
                if answer.status != 401 or last:
                    break
                await api.refresh_credentials()
    except TimeoutError:
        raise NoApiAnswer("no answer in time") from None
    except Exception as error:
        raise NoApiAnswer(printable(str(error) or type(error).__name__, limit=_PROBLEM_LIMIT)) from error
    return answer

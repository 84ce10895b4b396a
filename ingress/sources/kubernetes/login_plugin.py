"""Runs a kubeconfig's login plugin once: a program that prints an ExecCredential (client.authentication.k8s.io).

A plugin that hangs, fails or prints too much leaves nothing behind: no process, and no text of its own in our messages,
because its text may contain a token. Does not know when a login is due, nor what a credential is used for.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

import msgspec

# Enough for a token and a certificate chain with its key.
_ANSWER_BYTES_MAX: Final = 1024 * 1024


# How long to wait for a killed plugin. Only a process that waits for its disk needs any time.
_END_SECONDS: Final = 5.0


class LoginError(Exception):
    """A plugin gave no credential. The text is one line without any word of the plugin."""


class Login(msgspec.Struct, frozen=True, rename="camel"):
    """The status of an ExecCredential: a token, a client certificate with its key, or both."""

    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class Program(msgspec.Struct, frozen=True):
    """The `exec` section of a user in a kubeconfig."""

    class Variable(msgspec.Struct, frozen=True):
        """One environment variable."""

        name: str
        value: str

    command: str
    api_version: str = msgspec.field(name="apiVersion")
    args: Sequence[str] | None = None
    env: Sequence[Variable] | None = None


class _Credential(msgspec.Struct, frozen=True):
    api_version: str = msgspec.field(name="apiVersion")
    status: Login


_CREDENTIAL = msgspec.json.Decoder(_Credential)


def program_of(document: object) -> Program:
    """The program that this part of a kubeconfig describes. Raises `LoginError`."""
    try:
        return msgspec.convert(document, Program)
    except msgspec.ValidationError:
        raise LoginError("exec: it is malformed") from None


async def log_in(program: Program, *, environment: Mapping[str, str]) -> Login:
    """Runs the plugin to its end. Cancelling kills the plugin and all processes that it started.

    Raises `LoginError`, and OSError if the plugin cannot be run.
    """
    loop = asyncio.get_running_loop()
    transport, answer = await loop.subprocess_exec(
        lambda: _Answer(loop.create_future(), loop.create_future()),
        program.command,
        *(program.args or ()),
        env=_environment_of(program, environment),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
        start_new_session=True,
    )
    try:
        output = await answer.output
        status = transport.get_returncode()
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(transport.get_pid(), signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await answer.end
        raise
    finally:
        transport.close()
    if status:
        raise LoginError(f"exec: the login plugin ended with {status}")
    return _login_of(output, program.api_version)


def _environment_of(program: Program, environment: Mapping[str, str]) -> dict[str, str]:
    # The plugin must not ask questions, because nobody may be there to answer.
    request = {"apiVersion": program.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
    told = {"KUBERNETES_EXEC_INFO": msgspec.json.encode(request).decode()}
    return {**environment, **{each.name: each.value for each in program.env or ()}, **told}


def _login_of(output: bytes, api_version: str) -> Login:
    try:
        credential = _CREDENTIAL.decode(output)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise LoginError("exec: the login plugin's answer is not an ExecCredential") from None
    if credential.api_version != api_version:
        raise LoginError("exec: the login plugin's answer has another apiVersion than the kubeconfig")
    login = credential.status
    if not login.token and not (login.client_certificate_data and login.client_key_data):
        raise LoginError("exec: the login plugin's answer has no token and no client certificate with its key")
    return login


class _Answer(asyncio.SubprocessProtocol):
    """Collects the plugin's output. `end` is set when the plugin has ended.

    `output` is set when every process that holds the plugin's output has ended.
    """

    def __init__(self, output: asyncio.Future[bytes], end: asyncio.Future[None]) -> None:
        self.output = output
        self.end = end
        self._printed = bytearray()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._printed += data
        if len(self._printed) > _ANSWER_BYTES_MAX:
            self._printed.clear()
            if not self.output.done():
                self.output.set_exception(LoginError("exec: the login plugin's answer is too long"))

    def process_exited(self) -> None:
        if not self.end.done():
            self.end.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.output.done():
            self.output.set_result(bytes(self._printed))

"""Login plugins run as programs: what they may say, and what is left of them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from ingress.sources.kubernetes.login_plugin import Login, LoginError, Program, log_in, program_of
from tests.fakes.sockets import PATIENCE_SECONDS, until

pytestmark = pytest.mark.large

VERSION = "client.authentication.k8s.io/v1"


def python(script: str, *args: str) -> Program:
    return Program(sys.executable, VERSION, args=["-c", script, *args])


def printing(text: str) -> Program:
    return python("import sys; print(sys.argv[1])", text)


def credential(status: object, version: str = VERSION) -> str:
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


async def test_a_plugin_says_who_we_are_and_until_when() -> None:
    status = {"token": "t", "expirationTimestamp": "2030-01-01T00:00:00Z", "clientKeyData": None}
    login = await log_in(printing(credential(status)), environment={})
    assert login == Login("t", expiration_timestamp=datetime(2030, 1, 1, tzinfo=UTC))


async def test_a_plugin_gets_our_environment_its_own_and_the_request() -> None:
    script = (
        "import json, os, sys; info = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "token = [info, os.environ['OURS'], os.environ['ITS'], sys.stdin.read()];"
        "print(json.dumps({'apiVersion': sys.argv[1], 'status': {'token': json.dumps(token)}}))"
    )
    variables = [Program.Variable("ITS", "its")]
    program = Program(sys.executable, VERSION, args=["-c", script, VERSION], env=variables)
    login = await log_in(program, environment={**os.environ, "OURS": "ours"})
    request = {"apiVersion": VERSION, "kind": "ExecCredential", "spec": {"interactive": False}}
    assert json.loads(login.token or "") == [request, "ours", "its", ""]


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (python("import sys; sys.exit('very-secret')"), "the login plugin ended with 1"),
        (python("import os; print('very-secret', flush=True); os.kill(os.getpid(), 15)"), "ended with -15"),
        (printing("very-secret"), "is not an ExecCredential"),
        (printing("[]"), "is not an ExecCredential"),
        (printing(credential("very-secret")), "is not an ExecCredential"),
        (printing(credential({"token": "t", "expirationTimestamp": "very-secret"})), "is not an ExecCredential"),
        (printing(credential({"token": "t"}, "very-secret")), "has another apiVersion"),
        (printing(credential({"clientCertificateData": "very-secret"})), "has no token"),
        (printing(credential({"token": ""})), "has no token"),
        (python("print('very-secret' * 1000000)"), "is too long"),
    ],
)
async def test_what_is_wrong_with_a_plugin_is_said_without_its_words(program: Program, problem: str) -> None:
    with pytest.raises(LoginError) as raised:
        await log_in(program, environment={})
    assert problem in str(raised.value)
    assert "very-secret" not in str(raised.value)


async def test_a_plugin_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        await log_in(Program("/nonexistent/plugin", VERSION), environment={})


@pytest.mark.parametrize("document", [None, "very-secret", {"command": "x"}, {"command": "x", "apiVersion": ["very"]}])
def test_what_describes_no_program_is_said_without_its_content(document: object) -> None:
    with pytest.raises(LoginError, match=r"^exec: it is malformed$"):
        program_of(document)


class Callers:
    """Processes that hold a connection to us for as long as they live."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.readers: list[asyncio.StreamReader] = []


@asynccontextmanager
async def callers() -> AsyncIterator[Callers]:
    made = Callers(0)
    writers: list[asyncio.StreamWriter] = []

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.readers.append(reader)
        writers.append(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made
        for writer in writers:
            writer.close()


async def test_a_plugin_that_is_given_up_leaves_no_process_behind() -> None:
    script = (
        "import os, socket, sys, time; os.fork();"
        "held = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); time.sleep(600)"
    )
    async with callers() as called:
        running = asyncio.ensure_future(log_in(python(script, str(called.port)), environment={}))
        await until(lambda: len(called.readers) == 2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert [await reader.read() for reader in called.readers] == [b"", b""]

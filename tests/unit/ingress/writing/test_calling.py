"""A call has an answer or none, in time, whatever the API server does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ingress.sources.kubernetes.api import ApiServer as Client
from ingress.writing.calling import Api, ApiAnswer, NoApiAnswer, ask
from tests.fakes.apiserver import ApiServer, Fault
from tests.unit.ingress.writing.writers import client_of

pytestmark = pytest.mark.large

NODES = "/api/v1/nodes"


async def test_every_status_is_an_answer(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        api: Api = client
        assert (await ask(api, "GET", NODES)).is_success
        missing = await ask(api, "GET", f"{NODES}/nope")
        assert (missing.status, missing.is_success) == (404, False)
        assert missing.problem == 'HTTP 404: nodes "nope" not found'
        server.faults.add(Fault(status=429, retry_after="7"))
        assert (await ask(api, "GET", NODES)).retry_after_seconds == 7.0


@pytest.mark.parametrize("body", [b"", b"<html>\n", b"\xff", b"[]", b'{"message": 3}'])
def test_a_problem_is_one_line_whatever_the_body_is(body: bytes) -> None:
    assert ApiAnswer(502, body).problem == "HTTP 502"


def test_the_words_of_the_server_are_bounded_and_printable() -> None:
    problem = ApiAnswer(500, b'{"message": "a\\n' + b"x" * 5000 + b'"}').problem
    assert problem.startswith("HTTP 500: a\\n")
    assert len(problem) <= 300


async def test_no_connection_and_a_reset_are_no_answer_in_one_line(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.faults.add(Fault(reset=True))
        with pytest.raises(NoApiAnswer):
            await ask(client, "GET", NODES)
        await server.stop()
        with pytest.raises(NoApiAnswer) as refused:
            await ask(client, "GET", NODES)
        assert str(refused.value)
        assert "\n" not in str(refused.value)


async def test_a_server_that_stalls_is_given_up_at_the_limit(tmp_path: Path) -> None:
    async with ApiServer() as server, client_of(server, tmp_path) as client:
        server.faults.add(Fault(stall=True))
        async with asyncio.timeout(30):
            with pytest.raises(NoApiAnswer, match="in time"):
                await ask(client, "GET", NODES, timeout_seconds=0.1)


async def test_a_401_reads_the_token_anew_once(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old", encoding="utf-8")
    async with ApiServer(tokens={"old"}) as server:
        client = await Client.connect(kubeconfig=server.write_kubeconfig(tmp_path / "config", token_file=token))
        try:
            server.tokens = {"new"}
            assert (await ask(client, "GET", NODES)).status == 401
            assert [call.status for call in server.calls] == [401, 401]
            token.write_text("new", encoding="utf-8")
            assert (await ask(client, "GET", NODES)).status == 200
            assert [call.status for call in server.calls[2:]] == [401, 200]
        finally:
            await client.close()

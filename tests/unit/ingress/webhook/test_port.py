"""The webhook port: who gets which answer, how much at once, and with which certificate."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme

from balancer.connections.listeners import CannotListen
from ingress.webhook.admission import REVIEW_BYTES, AdmissionRefusal, namespace_of
from ingress.webhook.port import CONCURRENT_REVIEWS, UNREAD_REVIEWS, Judge, start_webhook
from tests.fakes.sockets import PATIENCE_SECONDS, until

pytestmark = pytest.mark.large

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
NAME = "zonal-webhook.zonal.svc"

HEAD = b"POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"

Ask = Callable[..., Awaitable[tuple[int, bytes]]]


def write_pair(folder: Path, *names: str, authority: trustme.CA = AUTHORITY) -> None:
    issued = authority.issue_cert(*names, key_type=trustme.KeyType.ECDSA)
    (folder / "tls.crt").write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
    (folder / "tls.key").write_bytes(issued.private_key_pem.bytes())


def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    AUTHORITY.configure_trust(context)
    return context


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_pair(tmp_path, NAME)
    return tmp_path


@asynccontextmanager
async def webhook(folder: Path, judge: Judge, **options: Any) -> AsyncIterator[int]:
    """The port of a webhook."""
    runner, port = await start_webhook(host="127.0.0.1", port=0, certificate_dir=folder, judge=judge, **options)
    try:
        yield port
    finally:
        await runner.cleanup()


@asynccontextmanager
async def asking(folder: Path, judge: Judge, **options: Any) -> AsyncIterator[Ask]:
    """Ask a webhook over TLS, as an API server does."""
    timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
    async with (
        webhook(folder, judge, **options) as port,
        aiohttp.ClientSession(f"https://127.0.0.1:{port}", timeout=timeout) as session,
    ):

        async def ask(path: str = "/validate", method: str = "POST", **request: Any) -> tuple[int, bytes]:
            given = {"headers": {"Content-Type": "application/json"}, "data": b"{}", **request}
            async with session.request(method, path, ssl=trusting(), server_hostname=NAME, **given) as response:
                assert "Server" not in response.headers
                return response.status, await response.read()

        yield ask


def echo(body: bytes) -> bytes:
    return body


async def test_the_answer_of_the_judge_is_the_answer(folder: Path) -> None:
    async with asking(folder, echo) as ask:
        assert await ask(data=b'{"a":1}') == (200, b'{"a":1}')


async def test_a_refusal_is_a_status_and_a_line(folder: Path) -> None:
    async with asking(folder, lambda _: AdmissionRefusal(400, "no review")) as ask:
        assert await ask() == (400, b"no review\n")


async def test_a_charset_beside_the_content_type_is_no_matter(folder: Path) -> None:
    async with asking(folder, echo) as ask:
        assert (await ask(headers={"Content-Type": "application/json; charset=utf-8"}))[0] == 200


@pytest.mark.parametrize("path", ["/", "/validate/", "/validate/x", "/metrics", "/debug/model"])
async def test_any_other_path_is_not_found(folder: Path, path: str) -> None:
    async with asking(folder, echo) as ask:
        assert (await ask(path))[0] == 404


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_any_other_method_is_not_allowed(folder: Path, method: str) -> None:
    async with asking(folder, echo) as ask:
        assert (await ask(method=method))[0] == 405


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/yaml"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
    ids=str,
)
async def test_any_other_content_is_refused_unread(folder: Path, headers: dict[str, str]) -> None:
    async with asking(folder, echo) as ask:
        assert (await ask(headers=headers))[0] == 415


async def test_a_body_of_three_mebibytes_is_judged_and_a_larger_one_is_not(folder: Path) -> None:
    async with asking(folder, lambda body: b"%d" % len(body)) as ask:
        assert await ask(data=io.BytesIO(b" " * REVIEW_BYTES)) == (200, b"%d" % REVIEW_BYTES)
        assert (await ask(data=io.BytesIO(b" " * (REVIEW_BYTES + 1))))[0] == 413
        assert await ask() == (200, b"2")


async def test_too_many_at_once_fail_fast_and_the_others_are_answered(folder: Path) -> None:
    begun, end = threading.Event(), threading.Event()

    def judge(body: bytes) -> bytes:
        begun.set()
        assert end.wait(PATIENCE_SECONDS)
        return body

    async with asking(folder, judge) as ask:
        asked = [asyncio.ensure_future(ask()) for _ in range(CONCURRENT_REVIEWS + 5)]
        try:
            # Those beyond the limit are answered while none of the others can be.
            await until(lambda: sum(task.done() for task in asked) == 5)
            await until(begun.is_set)
        finally:
            end.set()
        answers = [(await task)[0] for task in asked]
        assert sorted(answers) == [200] * CONCURRENT_REVIEWS + [503] * 5
        assert (await ask())[0] == 200


async def test_reviews_of_one_namespace_hold_up_none_of_another_for_long(folder: Path) -> None:
    begun, end = threading.Event(), threading.Event()
    order: list[str] = []

    def judge(body: bytes) -> bytes:
        order.append(namespace_of(body))
        begun.set()
        assert end.wait(PATIENCE_SECONDS)
        return body

    async with asking(folder, judge) as ask:

        def asked(namespace: str, count: int) -> list[asyncio.Future[tuple[int, bytes]]]:
            body = json.dumps({"request": {"namespace": namespace}}).encode()
            return [asyncio.ensure_future(ask(data=body)) for _ in range(count)]

        greedy = asked("greedy", 5)
        try:
            await until(begun.is_set)
            modest = asked("modest", CONCURRENT_REVIEWS)
            # Once one of them is told that there are too many, others wait for their turn.
            await until(lambda: any(task.done() for task in modest))
        finally:
            end.set()
        assert [(await task)[0] for task in greedy] == [200] * 5
        answers = [(await task)[0] for task in modest]
        assert answers.count(200) >= CONCURRENT_REVIEWS - 5
        assert order[:2] == ["greedy", "modest"]


async def test_a_judgement_does_not_hold_up_the_event_loop(folder: Path) -> None:
    loop = asyncio.get_running_loop()

    def judge(body: bytes) -> bytes:
        # Ends only if the loop runs meanwhile.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(PATIENCE_SECONDS)
        return body

    async with asking(folder, judge) as ask:
        assert (await ask())[0] == 200


async def send(port: int, sent: bytes) -> bytes:
    """What comes back, to the end, for bytes that are no whole request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting(), server_hostname=NAME)
    try:
        writer.write(sent)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("head", [b"", b"POST /validate HTTP/1.1\r\nHost: a\r\n"], ids=["nothing", "half a head"])
async def test_who_sends_no_whole_head_is_left(folder: Path, head: bytes) -> None:
    async with webhook(folder, echo, read_seconds=0.2) as port:
        assert await send(port, head) == b""


async def test_who_sends_no_whole_body_is_told_and_left(folder: Path) -> None:
    async with webhook(folder, echo, read_seconds=0.5) as port:
        assert (await send(port, HEAD + b"Content-Length: 9\r\n\r\n{")).startswith(b"HTTP/1.1 408 ")


@asynccontextmanager
async def slow_bodies(port: int, count: int) -> AsyncIterator[list[asyncio.StreamReader]]:
    """Reviews of which no more than the first byte comes, the oldest first."""
    opened = [await open_slowly(port) for _ in range(count)]
    try:
        yield [reader for reader, _ in opened]
    finally:
        for _, writer in opened:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for _, writer in opened), return_exceptions=True)


async def open_slowly(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting(), server_hostname=NAME)
    writer.write(HEAD + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n")
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")  # the webhook waits for the body
    writer.write(b"{")
    return reader, writer


async def test_slow_bodies_keep_no_whole_one_out(folder: Path) -> None:
    async with (
        webhook(folder, echo, read_seconds=PATIENCE_SECONDS) as port,
        slow_bodies(port, CONCURRENT_REVIEWS + 5),
    ):
        answer = await send(port, HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}")
        assert answer.startswith(b"HTTP/1.1 200 ")


async def test_for_more_bodies_than_there_is_room_for_the_oldest_goes(folder: Path) -> None:
    async with (
        webhook(folder, echo, read_seconds=PATIENCE_SECONDS) as port,
        slow_bodies(port, UNREAD_REVIEWS + 2) as readers,
    ):
        for oldest in readers[:2]:
            await is_told_to_go(oldest)
        assert not any(reader.at_eof() for reader in readers[2:])
        answer = await send(port, HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}")
        assert answer.startswith(b"HTTP/1.1 200 ")


async def test_for_more_bytes_than_there_is_room_for_the_oldest_body_goes(folder: Path) -> None:
    async with (
        webhook(folder, echo, read_seconds=PATIENCE_SECONDS, unread_bytes=2) as port,
        slow_bodies(port, 3) as readers,
    ):
        await is_told_to_go(readers[0])
        assert not any(reader.at_eof() for reader in readers[1:])


async def is_told_to_go(reader: asyncio.StreamReader) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")


async def names_served(port: int) -> set[str]:
    """The names in the certificate that a handshake gets; empty where nobody trusts it."""
    context = trusting()
    context.check_hostname = False
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=NAME)
    except ssl.SSLCertVerificationError:
        return set()
    names = {name for _, name in writer.get_extra_info("peercert")["subjectAltName"]}
    writer.close()
    await writer.wait_closed()
    return names


async def serves(port: int, *names: str) -> None:
    """Wait until the port serves a certificate of these names."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await names_served(port) != set(names):  # noqa: ASYNC110 - what is waited for is at the other end
            await asyncio.sleep(0.01)


async def test_a_new_pair_serves_the_next_handshake_and_open_connections_go_on(folder: Path) -> None:
    async with webhook(folder, echo, certificate_check_seconds=0.02) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting(), server_hostname=NAME)
        for name in ("new.test", "newer.test"):
            write_pair(folder, NAME, name)
            await serves(port, NAME, name)
            writer.write(HEAD + b"Content-Length: 4\r\n\r\n" + b"open")
            async with asyncio.timeout(PATIENCE_SECONDS):
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
                assert await reader.readexactly(4) == b"open"
        writer.close()
        await writer.wait_closed()


BREAKS: dict[str, Callable[[Path], object]] = {
    "another key": lambda folder: (folder / "tls.key").write_bytes(AUTHORITY.private_key_pem.bytes()),
    "no key": lambda folder: (folder / "tls.key").unlink(),
    "an empty certificate": lambda folder: (folder / "tls.crt").write_bytes(b""),
    "junk": lambda folder: (folder / "tls.crt").write_bytes(b"\x00\xff junk"),
    "an encrypted key": lambda folder: (folder / "tls.key").write_bytes(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"),
}


@pytest.mark.parametrize("broken", BREAKS)
async def test_a_pair_that_cannot_be_used_leaves_the_last_one(
    folder: Path, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    def warned() -> list[str]:
        return [record.getMessage() for record in caplog.records if "cannot be used" in record.getMessage()]

    with caplog.at_level(logging.INFO, logger="ingress.webhook.port"):
        async with webhook(folder, echo, certificate_check_seconds=0.02) as port:
            BREAKS[broken](folder)
            await until(lambda: bool(warned()))
            assert await names_served(port) == {NAME}
            write_pair(folder, NAME, "mended.test")
            await serves(port, NAME, "mended.test")
    assert "the last one is kept" in warned()[0]
    assert not any("BEGIN" in record.getMessage() for record in caplog.records)


async def test_without_a_pair_it_serves_what_nobody_trusts_until_there_is_one(tmp_path: Path) -> None:
    async with webhook(tmp_path, echo, certificate_check_seconds=0.02) as port:
        assert await names_served(port) == set()
        write_pair(tmp_path, NAME)
        await serves(port, NAME)


async def test_old_tls_is_refused(folder: Path) -> None:
    context = trusting()
    async with webhook(folder, echo) as port:
        with pytest.warns(DeprecationWarning):
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=NAME)


async def test_a_port_that_is_taken_cannot_be_listened_on(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(CannotListen, match="in use"):
        await start_webhook(host="127.0.0.1", port=taken.getsockname()[1], certificate_dir=folder, judge=echo)


async def test_after_its_end_nobody_is_accepted(folder: Path) -> None:
    async with webhook(folder, echo) as port:
        pass
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_all_addresses_are_those_of_ipv4_too(tmp_path: Path) -> None:
    runner, port = await start_webhook(host="::", port=0, certificate_dir=tmp_path, judge=lambda body: body)
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        await writer.wait_closed()
    finally:
        await runner.cleanup()


async def test_a_review_that_is_cut_is_no_line_in_the_log(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
    async with webhook(folder, echo) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting(), server_hostname=NAME)
        writer.write(head + b"Expect: 100-continue\r\n\r\n{")
        assert (await reader.readline()).startswith(b"HTTP/1.1 100")
        writer.transport.abort()
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []

"""Clients over HTTP/2 that do not read, or that must go, cost a bounded amount and hold up nobody."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client import Metric

from tests.fakes.stopwatch import Stopwatch
from tests.features.http2 import frames
from tests.features.http2.cases import Way, block
from tests.features.http2.peers import Peer
from tests.features.http2.playing import ask, connected, new_address
from tests.features.http2.running import ENGINES
from tests.features.http2.stage import Stage, staged
from tests.integration.running import until

_STREAMS = 128
_KIB, _MIB = 1024, 1024 * 1024
_NOTICE = 2**31 - 1


def _get(number: int, path: str) -> bytes:
    pseudo = [[":method", "GET"], [":scheme", "https"], [":authority", "app.test"], [":path", path]]
    return frames.frame(frames.HEADERS, 5, number, block(pseudo))


def _post(number: int) -> bytes:
    pseudo = [[":method", "POST"], [":scheme", "https"], [":authority", "app.test"], [":path", "/x"]]
    return frames.frame(frames.HEADERS, 4, number, block(pseudo))


async def _client(stage: Stage, window: int | None = None) -> Peer:
    """A connection after its preface; `window` is that of its streams."""
    peer = await connected(stage.zonal.https_port, new_address(), stage.tls)
    settings = frames.settings([] if window is None else [[4, window]])
    await peer.write_in([frames.PREFACE, settings], Way.ONE_WRITE)
    await peer.until(lambda: peer.has_settings, 30)
    return peer


def _close(*peers: Peer) -> None:
    for peer in peers:
        if peer.transport is not None:
            peer.transport.abort()


@pytest.mark.alone
@pytest.mark.parametrize("engine", ENGINES)
async def test_answers_that_are_not_read_hold_no_other_and_little_memory(engine: str, tmp_path: Path) -> None:
    async with staged(tmp_path, engine, proxy_send_timeout="60") as stage:
        await ask(stage.zonal.https_port, stage.tls)
        before = stage.resident_bytes()
        peer = await _client(stage, window=100)
        numbers = range(1, 2 * _STREAMS - 1, 2)
        await peer.write_in([_get(number, "/1m") for number in numbers], Way.ONE_WRITE)
        assert await peer.until(lambda: all(peer.streams[number].body for number in numbers), 30)
        last = 2 * _STREAMS - 1
        watch = Stopwatch()
        await peer.write_in([_get(last, "/x")], Way.ONE_WRITE)
        assert await peer.until(lambda: peer.streams[last].ended, 30)
        assert watch.within(0.5)
        assert {len(peer.streams[number].body) for number in numbers} == {100}
        grown = stage.resident_bytes() - before
        _close(peer)
    print(f"{grown / _MIB:.1f} MiB")
    assert grown <= 8 * _MIB, grown  # the 127 connections to the endpoint among it


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.alone
async def test_bodies_that_no_endpoint_takes_hold_no_other(tmp_path: Path) -> None:
    """All windows are full, of bodies that end nowhere: the next request has room."""
    async with staged(tmp_path, "ngh2", client_body_timeout="60") as stage:
        await ask(stage.zonal.https_port, stage.tls)
        before = stage.resident_bytes()
        peer = await _client(stage)
        numbers = range(1, 2 * _STREAMS - 1, 2)
        await peer.write_in([_post(number) for number in numbers], Way.ONE_WRITE)
        last = 2 * _STREAMS - 1
        await peer.write_in([_get(last, "/x")], Way.ONE_WRITE)
        assert await peer.until(lambda: peer.streams[last].ended, 30)
        grown = stage.resident_bytes() - before
        _close(peer)
    assert grown <= 12 * _MIB


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.alone
async def test_a_thousand_connections_that_do_not_read_stay_within_memory(tmp_path: Path) -> None:
    connections = 1000
    async with staged(tmp_path, "ngh2", proxy_send_timeout="60") as stage:
        await ask(stage.zonal.https_port, stage.tls)
        before = stage.resident_bytes()
        peers = [await _client(stage, window=0) for _ in range(connections)]
        idle = (stage.resident_bytes() - before) / connections
        for peer in peers:
            await peer.write_in([_get(1, "/1m"), _get(3, "/1m")], Way.ONE_WRITE)
        for peer in peers:
            assert await peer.until(lambda: bool(peer.streams[1].head and peer.streams[3].head), 60)  # noqa: B023
        grown = stage.resident_bytes() - before
        assert (await ask(stage.zonal.https_port, stage.tls)).ended
        _close(*peers)
    print(f"{idle / _KIB:.1f} KiB an idle connection with TLS, {grown / _MIB:.0f} MiB with 2,000 stalled streams")
    assert grown <= connections * 2 * 160 * _KIB


@pytest.mark.parametrize("engine", ENGINES)
async def test_answers_beyond_what_a_worker_may_hold_are_reset_and_their_lines_say_so(
    engine: str, tmp_path: Path
) -> None:
    async with staged(tmp_path, engine, proxy_send_timeout="60", http2_max_unread_size="1m") as stage:
        peer = await _client(stage, window=100)
        numbers = range(1, 60, 2)
        await peer.write_in([_get(number, "/1m") for number in numbers], Way.ONE_WRITE)
        assert await peer.until(lambda: any(peer.streams[number].reset is not None for number in numbers), 30)
        assert (await ask(stage.zonal.https_port, stage.tls)).ended
        _close(peer)
        await until(lambda: len(_errors(stage)) == len(numbers) + 1, seconds=30)
        metrics = await stage.zonal.metrics()
    lost = [error for error in _errors(stage) if error == "unread"]
    assert lost
    assert set(_errors(stage)) <= {"", "unread", "client_left"}
    assert _counted(metrics, "zonal_errors", "unread") == len(lost)
    assert _counted(metrics, "zonal_http2_resets", "unread") >= len(lost)
    assert _counted(metrics, "zonal_http2_resets", "cut") == 0


async def test_an_answer_that_its_client_breaks_off_is_not_counted_as_one_of_an_endpoint(tmp_path: Path) -> None:
    async with staged(tmp_path, "ngh2") as stage:
        peer = await _client(stage, window=100)
        await peer.write_in([_get(1, "/1m")], Way.ONE_WRITE)
        assert await peer.until(lambda: len(peer.streams[1].body) == 100, 30)
        await peer.write_in([frames.frame(frames.RST_STREAM, 0, 1, frames.CODES["CANCEL"].to_bytes(4))], Way.ONE_WRITE)
        await until(lambda: _errors(stage) == ["client_left"], seconds=30)
        metrics = await stage.zonal.metrics()
        _close(peer)
    assert _counted(metrics, "zonal_http2_resets", "client") == 1
    assert _counted(metrics, "zonal_http2_resets", "cut") == 0


def _errors(stage: Stage) -> list[str]:
    """What the lines of the access log say went wrong."""
    return [json.loads(line).get("error", "") for line in stage.zonal.access_lines]


def _counted(metrics: Mapping[str, Metric], name: str, kind: str) -> float:
    """A counter's value of one kind."""
    samples = [each for each in metrics[name].samples if each.name.endswith("_total")]
    return sum(each.value for each in samples if each.labels["kind"] == kind)


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("engine", ENGINES)
async def test_who_stops_reading_or_sending_loses_that_stream_alone(engine: str, tmp_path: Path) -> None:
    async with staged(tmp_path, engine, proxy_send_timeout="1", client_body_timeout="1") as stage:
        peer = await _client(stage, window=100)
        room = frames.frame(frames.WINDOW_UPDATE, 0, 3, (10_000).to_bytes(4, "big"))
        await peer.write_in([_get(1, "/1m"), _post(3), room], Way.ONE_WRITE)
        assert await peer.until(lambda: peer.streams[1].reset is not None and peer.streams[3].ended, 30)
        assert peer.streams[3].status == 408
        await peer.write_in([_get(5, "/x")], Way.ONE_WRITE)
        assert await peer.until(lambda: peer.streams[5].ended, 30)
        assert bytes(peer.streams[5].body) == b"ok"
        _close(peer)


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.alone
async def test_an_idle_connection_costs_little(tmp_path: Path) -> None:
    """Without TLS, whose part is OpenSSL's."""
    connections, said = 500, frames.PREFACE + frames.settings([]) + _get(1, "/x")
    async with staged(tmp_path, "ngh2", http2_cleartext="true") as stage:
        sizes, writers = [], []
        for _ in range(3):
            for _ in range(connections):
                reader, writer = await asyncio.open_connection("127.0.0.1", stage.zonal.http_port)
                writer.write(said)
                while b"ok" not in await reader.read(1000):
                    pass
                writers.append(writer)
            sizes.append(stage.resident_bytes())
        for writer in writers:
            writer.transport.abort()
    each = (sizes[-1] - sizes[0]) / (2 * connections)
    print(f"{each / _KIB:.1f} KiB an idle connection")
    assert each <= 16 * _KIB


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_drain_under_load_fails_nothing(engine: str, tmp_path: Path) -> None:
    async with staged(tmp_path, engine) as stage:
        going = [asyncio.create_task(_ask_until_refused(stage)) for _ in range(8)]
        await until(lambda: len(stage.http1["app"].received) > 300, seconds=30)
        stage.zonal.tell(signal.SIGTERM)
        results = await asyncio.gather(*going)
        assert await stage.zonal.has_ended() == 0  # a second signal, amid its end, would kill it
    assert sum(failed for _, failed in results) == 0
    assert sum(served for served, _ in results) > 300


async def _ask_until_refused(stage: Stage) -> tuple[int, int]:
    """Asks on one connection after the other until none is accepted. How many were served, and how many failed.

    A stream that GOAWAY says was not taken has not failed: a client sends it again (RFC 9113 6.8).
    """
    served = failed = 0
    while True:
        try:
            peer = await _client(stage)
        except OSError:
            return served, failed
        number = -1
        while peer.goaway is None and not peer.is_lost:
            batch = range(number + 2, number + 10, 2)
            number += 8
            await peer.write_in([_get(each, "/x") for each in batch], Way.ONE_WRITE)
            await peer.until(lambda: all(peer.streams[each].is_over for each in batch), 30)  # noqa: B023
            whole = [each for each in batch if peer.streams[each].ended]
            served += len(whole)
            last = peer.goaway[0] if peer.goaway is not None else _NOTICE
            failed += sum(each <= last for each in batch if each not in whole)
        await peer.until(lambda: False, 30)
        _close(peer)


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_client_that_leaves_much_unread_takes_nothing_from_one_that_reads_slowly(
    engine: str, tmp_path: Path
) -> None:
    async with staged(tmp_path, engine, proxy_send_timeout="60", http2_max_unread_size="1m") as stage:
        slow, greedy = await _client(stage, window=100), await _client(stage, window=100)
        await slow.write_in([_get(1, "/1m")], Way.ONE_WRITE)
        assert await slow.until(lambda: bool(slow.streams[1].body), 30)
        numbers = range(1, 60, 2)
        await greedy.write_in([_get(number, "/1m") for number in numbers], Way.ONE_WRITE)
        assert await greedy.until(lambda: any(greedy.streams[number].reset is not None for number in numbers), 30)
        more = [frames.frame(frames.WINDOW_UPDATE, 0, number, _MIB.to_bytes(4, "big")) for number in (0, 1)]
        await slow.write_in(more, Way.ONE_WRITE)
        assert await slow.until(lambda: slow.streams[1].ended or slow.streams[1].reset is not None, 30)
        assert len(slow.streams[1].body) == _MIB
        _close(slow, greedy)

"""A log is replayed line by line; requests that differ alike are counted together."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from balancer.model.zones import ZonePrices
from ingress.migration.rehearsal.comparing import Unlikeness
from ingress.migration.rehearsal.foreseeing import Oracle
from ingress.migration.rehearsal.lines import LoggedRequest, line_reader
from ingress.migration.rehearsal.replaying import Rehearsal, Replay
from ingress.migration.rehearsal.savings import Meter
from tests.unit.ingress.migration.dumped import nginx
from tests.unit.ingress.migration.rehearsal.logged import PORTS, line, translated

LINES = 1_000_000


def replayed(place: Path, lines: Iterator[str] | list[str], listed: list[int] | None = None) -> Rehearsal:
    two = nginx("two", "/api", "api", host="two.test")
    model = translated(place, nginx("web"), nginx("api", "/api", "api"), two).model

    def note(number: int, logged: LoggedRequest, found: Unlikeness) -> None:
        if listed is not None:
            listed.append(number)

    return Replay(Oracle(model, PORTS), Meter(model, ZonePrices(), ()), note).run(lines, line_reader())


def test_a_line_without_a_host_is_the_same_if_one_host_of_its_backend_would_do_it(tmp_path: Path) -> None:
    found = replayed(tmp_path, [line(), line("/api", upstream="shop-api-80"), line("/x", 301, "", "-"), "nonsense", ""])
    assert (found.requests, found.unread, found.without_host, found.differing) == (3, 1, 3, 1)
    assert found.differences[0].kind == "status"  # /x is a path of web, whom nobody asked


def test_requests_that_differ_alike_are_counted_together(tmp_path: Path) -> None:
    numbers: list[int] = []
    wrong = line("/api/x", upstream="shop-cart-80")
    found = replayed(tmp_path, [wrong, line(), *[wrong] * 4], numbers)
    (difference,) = found.differences
    assert (difference.kind, difference.requests, found.differing) == ("backend", 5, 5)
    assert difference.examples[0] == "line 1: GET /api/x"
    assert (len(difference.examples), numbers) == (3, [1, 3, 4, 5, 6])


def test_a_backend_that_no_host_has_differs(tmp_path: Path) -> None:
    assert replayed(tmp_path, [line(upstream="shop-gone-80")]).differing == 1


def test_a_host_of_the_log_is_asked_alone(tmp_path: Path) -> None:
    text = (
        '{"host": "two.test", "path": "/api", "status": 200, "upstream_addr": "10.0.0.1:1", "upstream": "shop-api-80"}'
    )
    found = replayed(tmp_path, [text, text.replace("two.test", "gone.test")])
    assert (found.without_host, found.differing) == (0, 1)


@pytest.mark.slow
def test_a_million_lines_take_less_than_a_minute_of_a_processor(tmp_path: Path) -> None:
    paths = random.Random(1)

    def lines() -> Iterator[str]:
        for number in range(LINES):
            api = number % 3 == 0
            target = f"{'/api' if api else ''}/items/{paths.randrange(500_000)}?page={number}"
            yield line(target, upstream="shop-api-80" if api else "shop-cart-80", client=f"203.0.113.{number % 250}")

    begin = time.process_time()
    found = replayed(tmp_path, lines())
    assert (found.requests, found.differing) == (LINES, 0)
    assert time.process_time() - begin < 60.0

"""The live view: a table that replaces itself on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import os
import re

import msgspec
import pytest

from ingress.demo.live import Screen, Tick, line, table
from ingress.demo.observing import RequestCounts

# In 2 s of a month of 30 days: 12.96 dollars a month.
DOLLARS = {"dollars": 1e-5, "blind_dollars": 2e-5}
TICK = Tick(
    says="flag-off: all zones.",
    own_zone="zone-a",
    seconds=2.0,
    account=RequestCounts(by_zone={"zone-a": 50, "zone-b": 150}, reasons={"zone_local": 50, "off": 150}, **DOLLARS),
    failed=3,
    calls=RequestCounts(by_zone={"zone-a": 4, "zone-b": 6}),
    findings=tuple(f"closed: Ingress demo/{name}: Service demo/{name} does not exist." for name in "abcde"),
    dollars_per_gigabyte=0.02,
)
QUIET = Tick(says="Nothing yet.", own_zone="zone-b", seconds=1.0, account=RequestCounts(), failed=0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_table_shows_rate_and_share_of_each_zone_the_reasons_and_the_failures() -> None:
    assert table(TICK) == [
        "flag-off: all zones.",
        "",
        "zone          requests/s  share",
        "zone-a (own)          25    25%  ######",
        "zone-b                75    75%  ##################",
        "zone-c                 0     0%",
        "",
        "reason    off 75/s, zone_local 25/s",
        "gRPC      zone-a 2/s, zone-b 3/s",
        "money     saved $12.96 a month at this rate ($0.02/GB between zones)",
        "failed    3",
        "findings  5",
        "  closed: Ingress demo/a: Service demo/a does not exist.",
        "  closed: Ingress demo/b: Service demo/b does not exist.",
        "  closed: Ingress demo/c: Service demo/c does not exist.",
    ]


def test_a_table_without_requests_has_no_shares_to_divide() -> None:
    assert table(QUIET)[3:] == [
        "zone-a                 0     0%",
        "zone-b (own)           0     0%",
        "zone-c                 0     0%",
        "",
        "reason    -",
        "gRPC      -",
        "money     saved $0.00 a month at this rate ($0/GB between zones)",
        "failed    0",
        "findings  0",
    ]


def test_a_zone_that_the_user_brings_in_has_its_row() -> None:
    tick = Tick(says="", own_zone="zone-a", seconds=1.0, account=RequestCounts(by_zone={"unknown": 1}), failed=0)

    assert "unknown                1   100%  ########################" in table(tick)


def test_the_line_says_the_same() -> None:
    assert line(TICK) == (
        "flag-off: all zones.  100 requests/s  zone-a 25%  zone-b 75%  zone-c 0%  reason zone_local, off  "
        "gRPC zone-a 2/s, zone-b 3/s  "
        "saved $12.96 a month at this rate ($0.02/GB between zones)  failed 3  findings 5"
    )


def test_elsewhere_every_tick_is_a_line_without_control_sequences() -> None:
    stream = io.StringIO()
    screen = Screen(stream)

    screen.say("hello")
    screen.show(TICK)
    screen.show(QUIET)

    assert stream.getvalue().splitlines() == ["hello", line(TICK), line(QUIET)]


def test_on_a_terminal_a_tick_replaces_the_one_before() -> None:
    stream = Terminal()
    screen = Screen(stream)

    screen.show(TICK)
    screen.show(QUIET)

    first, second = "\n".join(table(TICK)) + "\n", "\n".join(table(QUIET)) + "\n"
    assert stream.getvalue() == first + f"\x1b[{len(table(TICK))}F\x1b[J" + second


def test_on_a_terminal_what_is_said_stays_above_the_next_tick() -> None:
    stream = Terminal()
    screen = Screen(stream)

    screen.show(TICK)
    screen.say("hello")
    screen.show(TICK)

    drawn = "\n".join(table(TICK)) + "\n"
    assert stream.getvalue() == drawn + f"\x1b[{len(table(TICK))}F\x1b[J" + "hello\n" + drawn


def test_what_zones_cost_more_is_said_as_well() -> None:
    account = RequestCounts(dollars=2e-5, blind_dollars=1e-5)
    assert "lost $12.96 a month" in line(msgspec.structs.replace(TICK, account=account))


@pytest.mark.parametrize("columns", [20, 30, 40, 60, 80])
def test_no_line_of_the_table_is_wider_than_the_terminal(columns: int) -> None:
    lines = table(TICK, columns)
    assert all(len(text) <= columns for text in lines)
    words = " ".join(" ".join(lines).split())
    for said in ("saved $12.96 a month", "failed 3", "findings 5", "closed: Ingress demo/a: Service demo/a"):
        assert said in words


def test_a_table_that_is_higher_than_the_terminal_is_cut() -> None:
    stream = Terminal()
    screen = Screen(stream, lambda: os.terminal_size((40, 6)))
    screen.show(TICK)
    screen.show(TICK)
    drawn = "\n".join(table(TICK, 40)[:5]) + "\n"
    assert stream.getvalue() == drawn + "\x1b[5F\x1b[J" + drawn


def test_a_terminal_that_has_become_narrow_shows_each_long_line_in_several_rows() -> None:
    stream, sizes = Terminal(), [os.terminal_size((80, 24))]
    screen = Screen(stream, lambda: sizes.pop(0))
    screen.show(TICK)
    wide = table(TICK, 80)
    stream.truncate(0)
    sizes[:] = [os.terminal_size((30, 24))] * 2
    screen.show(TICK)
    (erased,) = re.findall(r"\x1b\[([0-9]+)F", stream.getvalue())
    assert int(erased) == sum(max(1, -(-len(text) // 30)) for text in wide) > len(wide)

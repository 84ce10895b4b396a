"""The live view: a table that replaces itself on a terminal, lines elsewhere."""

from __future__ import annotations

import io

from ingress.demo.live import Screen, Tick, line, table
from ingress.demo.observing import Account

TICK = Tick(
    says="flag-off: all zones.",
    own_zone="zone-a",
    seconds=2.0,
    account=Account(by_zone={"zone-a": 50, "zone-b": 150}, reasons={"zone_local": 50, "off": 150}),
    failed=3,
)
QUIET = Tick(says="Nothing yet.", own_zone="zone-b", seconds=1.0, account=Account(), failed=0)


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
        "reason  off 75/s, zone_local 25/s",
        "failed  3",
    ]


def test_a_table_without_requests_has_no_shares_to_divide() -> None:
    assert table(QUIET)[3:] == [
        "zone-a                 0     0%",
        "zone-b (own)           0     0%",
        "zone-c                 0     0%",
        "",
        "reason  -",
        "failed  0",
    ]


def test_a_zone_that_the_user_brings_in_has_its_row() -> None:
    tick = Tick(says="", own_zone="zone-a", seconds=1.0, account=Account(by_zone={"unknown": 1}), failed=0)

    assert "unknown                1   100%  ########################" in table(tick)


def test_the_line_says_the_same() -> None:
    assert line(TICK) == (
        "flag-off: all zones.  100 requests/s  zone-a 25%  zone-b 75%  zone-c 0%  reason zone_local, off  failed 3"
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
    assert stream.getvalue() == first + "\x1b[9F\x1b[J" + second


def test_on_a_terminal_what_is_said_stays_above_the_next_tick() -> None:
    stream = Terminal()
    screen = Screen(stream)

    screen.show(TICK)
    screen.say("hello")
    screen.show(TICK)

    drawn = "\n".join(table(TICK)) + "\n"
    assert stream.getvalue() == drawn + "\x1b[9F\x1b[J" + "hello\n" + drawn

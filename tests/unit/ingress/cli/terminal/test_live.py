"""The live view: what is drawn, that it fits, and that it obeys keys and ends."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from ingress.admin.overview.document import FleetPart, FleetReplica, SickZone
from ingress.cli.terminal.keys import TopSight
from ingress.cli.terminal.live import drawn
from ingress.cli.terminal.lookout import Lookout, TopOptions
from ingress.cli.terminal.ranking import Choice, Order
from tests.fakes.stopwatch import Stopwatch
from tests.unit.ingress.cli.terminal.documents import flow, overview, service
from tests.unit.ingress.cli.terminal.ports import admin_port, closed_url


def screen(watch: Lookout, options: TopOptions, *, height: int = 40, width: int = 160, **sight: Any) -> str:
    """What a terminal would show."""
    console = Console(file=StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    seen = TopSight(order=options.choice.order, interval_seconds=options.interval_seconds, **sight)
    console.print(drawn(watch.look(), watch, options, seen, console.size))
    written = console.file
    assert isinstance(written, StringIO)
    return written.getvalue()


def test_it_shows_both_tables_and_who_does_not_answer() -> None:
    gone = closed_url()
    documents = [
        overview(at, flows=(flow("zone-b", int(at)),), services=(service("[red]cart", 0, int(at)),))
        for at in (1.0, 2.0)
    ]
    with admin_port(*documents) as port:
        options = TopOptions(admins=(port.url, gone), choice=Choice(order=Order.COST))
        watch = Lookout(options)
        assert "1 without rates yet" in screen(watch, options)
        text = screen(watch, options)
    assert "1 replica · 1.0 req/s · 0% in own zone" in text
    assert re.search(r"^zone-a +zone-b +1\.0 ", text, re.MULTILINE)
    assert "shop/[red]cart" in text, "names are no markup"
    assert f"{gone}: connection refused" in text
    assert "by cost, every 1 s" in text


def test_sick_zones_have_a_table_as_long_as_there_are_any() -> None:
    sick = SickZone(
        "zone-b", "leaving", share=0.97, answers=50, failed=20, other_answers=400, seconds=75.0, dry_run=True
    )
    partly = SickZone("zone-b", "leaving", share=0.3, answers=50, failed=20, staying="Ingress shop/web")
    documents = [
        overview(1.0, services=(service("cart", sick_zones=(sick,)), service("pay", sick_zones=(partly,)))),
        overview(2.0, services=(service("cart"), service("pay"))),
    ]
    with admin_port(*documents) as port:
        options = TopOptions(admins=(port.url,))
        watch = Lookout(options)
        text = screen(watch, options)
        assert re.search(r"^SERVICE +SICK ZONE +STATE +LEAVES +FAILS +OTHERS FAIL +FOR$", text, re.MULTILINE | re.ASCII)
        assert re.search(r"^shop/cart +zone-b +leaving \(dry run\) +97.0% +40.0% of 50 +0% of 400 +75 s$", text, re.M)
        assert re.search(r"^shop/pay +zone-b +leaving, not Ingress shop/web +30.0% ", text, re.M)
        assert "SICK ZONE" not in screen(watch, options)


def test_the_fleet_takes_the_place_of_services() -> None:
    part = FleetPart(
        replicas=(FleetReplica(name="zonal-0", zone="zone-a", own=True), FleetReplica(name="zonal-1", state="silent")),
        flows=(flow("zone-b", 7),),
    )
    with admin_port(overview(services=(service("cart"),), fleet=part)) as port:
        options = TopOptions(admins=(port.url,))
        text = screen(Lookout(options), options, shows_fleet=True)
    assert "shop/cart" not in text
    assert re.search(r"^zonal-1 +- +silent ", text, re.MULTILINE)
    assert re.search(r"^zone-a +zone-b +7 ", text, re.MULTILINE)
    assert "zonal-0 does not hear zonal-1" in text


def test_services_that_find_no_room_are_counted() -> None:
    with admin_port(overview(services=tuple(service(f"s{number:03}") for number in range(100)))) as port:
        options = TopOptions(admins=(port.url,))
        text = screen(Lookout(options), options, height=24)
    assert len(text.splitlines()) <= 24
    assert "and 85 more Services" in text


@pytest.mark.parametrize(("first", "shown"), [(0, "s000"), (3, "s003"), (1000, "s085")])
def test_the_list_begins_where_it_is_scrolled_to_and_never_beyond_its_end(first: int, shown: str) -> None:
    with admin_port(overview(services=tuple(service(f"s{number:03}") for number in range(100)))) as port:
        options = TopOptions(admins=(port.url,))
        text = screen(Lookout(options), options, height=24, first=first)
    assert re.findall(r"^shop/(s\d+)", text, re.MULTILINE)[0] == shown
    assert text.count("shop/s") == 15


@pytest.mark.parametrize("width", [60, 80, 110])
def test_a_narrow_terminal_has_fewer_columns_and_none_that_is_cut(width: int) -> None:
    with admin_port(overview(services=(service("cart"),), flows=(flow("zone-a", 1),))) as port:
        options = TopOptions(admins=(port.url,))
        text = screen(Lookout(options), options, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert re.search("SERVICE.* REQ/S .*SAVED", text)
    assert "…" not in "\n".join(text.splitlines()[1:-1])


@pytest.mark.large
@pytest.mark.parametrize("end", ["Ctrl-C", "q"])
def test_on_a_terminal_it_draws_until_it_is_ended(end: str) -> None:
    with admin_port(overview(1.0, services=(service("cart"),)), overview(2.0, services=(service("cart"),))) as port:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            (sys.executable, "-m", "ingress", "top", "--admin", port.url, "--interval", "0.2"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "160", "LINES": "40"},
        )
        os.close(theirs)
        try:
            seen, watch = b"", Stopwatch()
            while b"shop/cart" not in seen or len(port.asked) < 3:
                assert watch.within(60), seen
                seen += os.read(ours, 65536)
            os.write(ours, b"s")
            while b"by errors" not in seen:
                assert watch.within(60), seen
                seen += os.read(ours, 65536)
            if end == "q":
                os.write(ours, b"q")
            else:
                process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
            os.close(ours)

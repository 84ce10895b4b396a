"""Replicas over links while one of them is frozen, comes back at another address, or has a clock of its own.

Eight, one and one of ten requests come in at the zones, which can carry as much each. The busy zone keeps a third of
all requests, which is 5/12 of its own; without the third replica it keeps 3/8.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from tests.integration.conversing import LARGE_SAMPLE, SETTINGS, Load, comes, knows_traffic, value
from tests.integration.linked_fleet import ZONES, fleet, replica
from tests.integration.running import Zonal

pytestmark = pytest.mark.slow

NO_FAULTS = ("own", "noise")
"""A replica that finds itself, and a handshake whose packets were lost."""

HOUR = 3600
_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long ahead(void) { return atol(getenv("CLOCK_AHEAD")); }

int clock_gettime(clockid_t id, struct timespec *now)
{
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, now);
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) now->tv_sec += ahead();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *told)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (told) *told = exact.tv_sec;
    return exact.tv_sec;
}
"""


def family(pid: int) -> Iterator[int]:
    """A process and all that come from it."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from family(int(child))


def library_of_clocks(place: Path) -> Path:
    """What makes the clock of a process differ by `CLOCK_AHEAD` seconds."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("a clock of its own needs a C compiler: apt-get install gcc")
    source, library = place / "clock.c", place / "clock.so"
    source.write_text(_CLOCK)
    subprocess.run((compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"), check=True)
    return library


async def refuses_nothing(zonal: Zonal) -> None:
    refused = await value(zonal, "zonal_fleet_refused")
    assert refused == sum([await value(zonal, "zonal_fleet_refused", reason=each) for each in NO_FAULTS])


async def test_a_replica_that_was_frozen_is_left_out_and_counts_again(tmp_path: Path) -> None:
    """All of its processes stand still. What the others sent to it meanwhile waits there, and comes at once."""
    async with fleet(tmp_path, dict.fromkeys(ZONES, 2), SETTINGS) as made:
        busy, quiet, last = made.zonals
        async with Load({busy: 8, quiet: 1, last: 1}) as load:
            for zonal in made.zonals:
                await knows_traffic(zonal, 0.8)
            assert await load.share(busy, LARGE_SAMPLE) == pytest.approx(5 / 12, abs=0.06)
        frozen = [*family(last.pid)]
        assert len(frozen) >= 3
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            async with Load({busy: 8, quiet: 1}) as load:
                for zonal in (busy, quiet):
                    await comes(zonal, 1.0, "zonal_fleet_peers", state="up")
                    await knows_traffic(zonal, 8 / 9)
                assert await load.share(busy, LARGE_SAMPLE) == pytest.approx(3 / 8, abs=0.06)
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
        await made.all_hear(2.0)
        await last.is_ready()
        async with Load({busy: 8, quiet: 1, last: 1}) as load:
            for zonal in made.zonals:
                await knows_traffic(zonal, 0.8)
            assert await load.share(busy, LARGE_SAMPLE) == pytest.approx(5 / 12, abs=0.06)
        for zonal in made.zonals:
            await refuses_nothing(zonal)


async def test_a_replica_that_comes_back_at_another_address_counts_there(tmp_path: Path) -> None:
    async with fleet(tmp_path, dict.fromkeys(ZONES, 2), SETTINGS, spares=1) as made:
        busy, quiet, last = made.zonals
        async with Load({busy: 8, quiet: 1, last: 1}):
            for zonal in made.zonals:
                await knows_traffic(zonal, 0.8)
        await last.stop()
        for zonal in (busy, quiet):
            await comes(zonal, 1.0, "zonal_fleet_peers", state="up")
        async with replica(ZONES[-1], made.links.names[-1], made.links, made.opened) as back:
            for zonal in (busy, quiet, back):
                await comes(zonal, 2.0, "zonal_fleet_peers", state="up")
            async with Load({busy: 8, quiet: 1, back: 1}) as load:
                for zonal in (busy, quiet, back):
                    await knows_traffic(zonal, 0.8)
                assert await load.share(busy, LARGE_SAMPLE) == pytest.approx(5 / 12, abs=0.06)
            for zonal in (busy, quiet, back):
                await refuses_nothing(zonal)


async def test_clocks_that_are_an_hour_apart_change_nothing(tmp_path: Path) -> None:
    """One is an hour ahead of the second one, and one an hour behind. Their monotonic clocks are those of one host."""
    library = library_of_clocks(tmp_path)
    clocks = [{"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(ahead)} for ahead in (HOUR, 0, -HOUR)]
    async with fleet(tmp_path, dict.fromkeys(ZONES, 2), SETTINGS, environments=clocks) as made:
        for zonal, ahead in zip(made.zonals, (HOUR, 0, -HOUR), strict=True):
            said = (await zonal.admin("/readyz")).field("date")
            apart = parsedate_to_datetime(said or "") - datetime.now(UTC)
            assert apart.total_seconds() == pytest.approx(ahead, abs=HOUR / 4)
        busy, quiet, last = made.zonals
        async with Load({busy: 8, quiet: 1, last: 1}) as load:
            for zonal in made.zonals:
                await knows_traffic(zonal, 0.8)
            assert await load.share(busy, LARGE_SAMPLE) == pytest.approx(5 / 12, abs=0.06)
        for zonal in made.zonals:
            await refuses_nothing(zonal)

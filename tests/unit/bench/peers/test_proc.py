"""CPU time and memory of a process tree, from the kernel's texts."""

from __future__ import annotations

from tests.bench.peers.proc import ProcessStat, read_pss_kib, read_stat, tree, used_ticks

STAT = "4711 (a) b (c) S 4000 4711 4711 0 -1 4194304 9 8 7 6 120 30 5 2 20 0 4 0 99 1000 200 18446744073709551615"


def test_user_and_system_time_of_a_process_and_of_its_ended_children_are_added() -> None:
    assert read_stat(STAT) == ProcessStat(pid=4711, parent=4000, ticks=157)


def test_a_tree_is_its_root_and_all_that_descends_from_it() -> None:
    stats = [ProcessStat(5, 3, 0), ProcessStat(2, 1, 0), ProcessStat(3, 2, 0), ProcessStat(4, 1, 0)]
    assert [stat.pid for stat in tree(stats, 2)] == [2, 3, 5]


def test_a_root_that_has_ended_has_no_tree() -> None:
    assert tree([ProcessStat(2, 1, 0)], 7) == []


def test_a_child_that_ends_between_two_looks_is_counted_once() -> None:
    assert used_ticks({1: 10, 2: 40}, {1: 10 + 45}) == 5


def test_the_proportional_share_is_read() -> None:
    rollup = "55f0-7ffe ---p 00000000 00:00 0 [rollup]\nRss:  9000 kB\nPss:  1234 kB\nPss_Dirty: 7 kB\n"
    assert read_pss_kib(rollup) == 1234
    assert read_pss_kib("") == 0

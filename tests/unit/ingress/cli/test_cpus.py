"""How many CPUs there are for us: what containers of both kinds are told, and nonsense that is no limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ingress.cli.cpus import usable_cpus

MANY = 16


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(MANY)))


def cpus(place: Path, files: dict[str, str]) -> int:
    for name, content in files.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return usable_cpus(place)


V2 = {"proc/self/cgroup": "0::/\n"}
V1 = {"proc/self/cgroup": "5:memory:/pods/a\n4:cpu,cpuacct:/pods/a\n"}


def test_without_cgroups_the_affinity_counts(tmp_path: Path) -> None:
    assert cpus(tmp_path, {}) == MANY


def test_where_there_is_no_affinity_all_cpus_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert cpus(tmp_path, {}) == os.cpu_count()


@pytest.mark.parametrize(
    ("quota", "count"),
    [
        ("max 100000", MANY),
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("10000 100000", 1),
        ("9900000 100000", MANY),
        ("100000 0", MANY),
        ("", MANY),
        ("nonsense", MANY),
        ("1 2 3", MANY),
        ("-1 100000", MANY),
    ],
)
def test_a_quota_of_version_2(tmp_path: Path, quota: str, count: int) -> None:
    assert cpus(tmp_path, V2 | {"sys/fs/cgroup/cpu.max": f"{quota}\n"}) == count


def test_the_tightest_of_the_cgroups_around_counts(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/pods/a/b\n",
        "sys/fs/cgroup/pods/cpu.max": "300000 100000\n",
        "sys/fs/cgroup/pods/a/cpu.max": "500000 100000\n",
        "sys/fs/cgroup/pods/a/b/cpu.max": "max 100000\n",
    }
    assert cpus(tmp_path, files) == 3


@pytest.mark.parametrize("place", ["", "pods/a/"], ids=["as a container sees it", "as the host does"])
@pytest.mark.parametrize(("quota", "count"), [("-1", MANY), ("250000", 3)])
def test_a_quota_of_version_1(tmp_path: Path, place: str, quota: str, count: int) -> None:
    files = {
        f"sys/fs/cgroup/cpu/{place}cpu.cfs_quota_us": f"{quota}\n",
        f"sys/fs/cgroup/cpu/{place}cpu.cfs_period_us": "100000\n",
    }
    assert cpus(tmp_path, V1 | files) == count


def test_lines_that_are_not_understood_are_passed_over(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "\nnonsense\n0\n0::/\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}
    assert cpus(tmp_path, files) == 2


def test_a_file_that_is_no_text_is_no_limit(tmp_path: Path) -> None:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_bytes(b"\xff\xfe\n")
    assert usable_cpus(tmp_path) == MANY


def test_this_machine_has_at_least_one() -> None:
    assert usable_cpus() >= 1

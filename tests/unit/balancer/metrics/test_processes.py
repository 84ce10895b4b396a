"""The readings of /proc appear under the standard names for the parent, and under names of our own for workers."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time

from prometheus_client.parser import text_string_to_metric_families

from balancer.metrics.definitions import DEFINITIONS
from balancer.metrics.processes import PROCESS_METRICS, interpreter_text, process_series


def test_this_process_and_a_worker_are_read() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        series = process_series({3: child.pid})
        child.communicate(b"\n")
    assert set(series) == set(PROCESS_METRICS)
    for name, samples in series.items():
        assert [labels for labels, _ in samples] == [("3",) if name.startswith("zonal_worker_") else ()]
        assert samples[0][1] >= 0
    assert series["process_open_fds"][0][1] >= 3
    assert series["process_resident_memory_bytes"][0][1] > 1_000_000
    assert series["zonal_worker_start_time_seconds"][0][1] <= time.time() + 1
    assert series["zonal_worker_start_time_seconds"][0][1] >= series["process_start_time_seconds"][0][1]


def test_a_worker_that_has_ended_has_no_series() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    series = process_series({1: child.pid, 2: os.getpid()})
    assert [labels for labels, _ in series["zonal_worker_open_fds"]] == [("2",)]


def test_the_interpreter_and_its_garbage_collector_are_told_by_the_library() -> None:
    families = {family.name: family for family in text_string_to_metric_families(interpreter_text().decode())}
    assert families["python_info"].samples[0].labels["version"] == platform.python_version()
    assert [each.labels["generation"] for each in families["python_gc_collections"].samples] == ["0", "1", "2"]


def test_every_process_metric_is_in_the_table() -> None:
    assert set(PROCESS_METRICS) <= {definition.name for definition in DEFINITIONS}

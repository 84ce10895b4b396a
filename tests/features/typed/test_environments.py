"""A tree is run with its own modules, compiled, and under AddressSanitizer where it was made for that."""

from __future__ import annotations

from pathlib import Path

import pytest

from typed.environments import environment_of

TREE = Path("/tree")


def test_the_tree_comes_first_and_its_binaries_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZONAL_PURE", "1")
    monkeypatch.setenv("HOME", "/home")
    environment = environment_of(TREE, "release")
    assert (environment["PYTHONPATH"], environment["HOME"]) == ("/tree", "/home")
    assert not {"ZONAL_PURE", "ASAN_OPTIONS"} & set(environment)


def test_only_a_tree_for_it_runs_under_address_sanitizer() -> None:
    environment = environment_of(TREE, "asan")
    assert "libasan.so" in environment["LD_PRELOAD"]
    assert environment["PYTHONMALLOC"] == "malloc"
    assert "abort_on_error=1" in environment["ASAN_OPTIONS"].split(":")

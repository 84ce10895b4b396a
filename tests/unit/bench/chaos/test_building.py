"""Reports of AddressSanitizer are found by their files; the plain sources have none."""

from __future__ import annotations

from pathlib import Path

from tests.bench.chaos.building import Build


def test_each_report_is_told_by_its_summary(tmp_path: Path) -> None:
    build = Build(tmp_path, {}, tmp_path / "asan")
    assert build.found() == []
    (tmp_path / "asan.7").write_text(
        "=====\n==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n    #0 f\n"
    )
    (tmp_path / "asan.8").write_text("")
    (tmp_path / "stderr").write_text("another file")
    assert build.found() == [
        "asan.7: ==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1",
        "asan.8: empty",
    ]


def test_the_plain_sources_report_nothing() -> None:
    assert Build().found() == []
    assert Build().name == "the plain sources"

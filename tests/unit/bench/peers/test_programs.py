"""How contenders are started."""

from __future__ import annotations

import pytest

from tests.bench.peers import cases, programs
from tests.bench.peers.configs.setup import Setup
from tests.bench.peers.processes import Failed

pytestmark = pytest.mark.large


def test_the_compiled_build_is_left_out_without_a_c_compiler(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent/cc")
    with pytest.raises(Failed, match="a typed build needs Cython and a C compiler"):
        programs.launch(cases.COMPILED, setup, workers=1)
    assert programs.launch(cases.ZONAL, setup, workers=1).environment == {}

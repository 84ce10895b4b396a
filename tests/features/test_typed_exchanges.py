"""Plain source and compiled build say the same to clients, to endpoints, in the access log and in the metrics."""

from __future__ import annotations

import shutil

import pytest

from tests.features.typed.comparing import differences


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on the PATH")
def test_a_thousand_exchanges_are_equal_on_both_builds() -> None:
    assert differences(seed=1, exchanges=1000, flavour="release") == []

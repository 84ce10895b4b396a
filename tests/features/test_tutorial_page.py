"""What the tutorials tell a newcomer to do works as it stands there, in one run from the first command to the last."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.features.pages.shop import serving_shop, steps_of
from tests.unit.sources import ROOT

PAGES = ("tutorial", "tutorial-gateway")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="no curl or bash here")
@pytest.mark.parametrize("name", PAGES)
def test_every_command_says_what_the_page_says(tmp_path: Path, name: str) -> None:
    steps = steps_of(ROOT / "docs" / f"{name}.md")
    assert len(steps) > 15
    dozen = next(command for command, _ in steps if command.startswith("dozen() {"))
    with serving_shop(tmp_path) as shop:
        shop.follows(steps, dozen)

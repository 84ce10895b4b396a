"""Files of hooks are followed without a signal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ingress.findings import Finding
from ingress.following.hook_files import HooksUnusable
from ingress.following.hook_following import HookFollowing
from ingress.settings.hooks import RegisteredHook
from tests.unit.ingress.following.test_hook_files import TEXT


@pytest.mark.large
async def test_a_change_is_told(tmp_path: Path) -> None:
    path = tmp_path / "tenant.py"
    path.write_text(TEXT)
    following = HookFollowing((tmp_path,), poll_seconds=0.01)
    (hook,) = await following.open()
    assert hook.name == "tenant"
    told: asyncio.Future[tuple[RegisteredHook, ...]] = asyncio.get_running_loop().create_future()

    def changed(hooks: tuple[RegisteredHook, ...], findings: tuple[Finding, ...]) -> None:
        assert findings == ()
        told.set_result(hooks)

    task = asyncio.create_task(following.run(changed))
    path.write_text(TEXT + "#\n")
    (hook,) = await told
    task.cancel()
    assert hook.code.text == TEXT + "#\n"
    assert following.hooks == (hook,)


async def test_without_files_there_is_nothing_to_follow() -> None:
    following = HookFollowing(())
    await following.open()
    await following.run(lambda *_: None)


async def test_a_start_without_its_hooks_fails(tmp_path: Path) -> None:
    with pytest.raises(HooksUnusable):
        await HookFollowing((tmp_path / "none.py",)).open()

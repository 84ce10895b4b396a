"""What relays use together follows the view in use."""

from __future__ import annotations

import msgspec

from balancer.model.settings import LogRules, ProxySettings
from tests.unit.balancer.relays.scenes import KEY, backend, model, relaying


async def test_settings_and_backends_are_those_of_the_newest_view() -> None:
    content = model([backend(("127.0.0.1", 1))])
    async with relaying(content) as scene:
        tools = scene.worker.relays.tools
        assert (tools.idle_seconds(), tools.logged(), KEY in tools.backends()) == (600.0, None, True)
        settings = ProxySettings(stream_idle_seconds=5.0, log=LogRules(enabled=False))
        scene.show(msgspec.structs.replace(content, backends=(), proxy=settings))
        assert (tools.idle_seconds(), KEY in tools.backends()) == (5.0, False)
        assert tools.logged() is not None

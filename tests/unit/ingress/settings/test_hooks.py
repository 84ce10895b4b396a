"""What the control plane knows of a hook."""

from __future__ import annotations

from balancer.model.hooks import HookCode
from balancer.model.secrecy import shown_fields
from ingress.settings.hooks import RegisteredHook


def test_a_hook_is_selected_by_the_name_of_its_file() -> None:
    assert RegisteredHook(HookCode("tenant", "d"), ()).name == "tenant"


def test_the_text_of_a_hook_is_not_shown() -> None:
    assert "text" not in shown_fields(HookCode)

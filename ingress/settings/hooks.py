"""The hooks that the operator has registered, as far as the control plane knows them: it runs none of them."""

from __future__ import annotations

import msgspec

from balancer.model.hooks import HookCode, HookPhase


class RegisteredHook(msgspec.Struct, frozen=True):
    """One hook: its code, its functions, and the JSON schema of its settings, empty if it takes none."""

    code: HookCode
    phases: tuple[HookPhase, ...]
    schema: str = ""

    @property
    def name(self) -> str:
        """The name by which Ingresses and routes select it."""
        return self.code.key

"""Options about hooks of the operator: which of them an Ingress asks. It must not know what hooks there are."""

from __future__ import annotations

import msgspec

from ingress.findings import Severity
from ingress.settings.table.option import OWN_PREFIX, ingress_option
from ingress.settings.unsupported import closing
from ingress.settings.values import InvalidValue
from zonal_hooks.loading import NAME

HOOK_PREFIX = OWN_PREFIX + "hook-"
"""What an annotation with the settings of a hook begins with; the name of the hook follows."""

_HOOKS_MOST = 8


class HookChoice(msgspec.Struct, frozen=True):
    """The hooks that one source asks, in their order."""

    names: tuple[str, ...] = ()


def hook_names(text: str) -> tuple[str, ...]:
    """The names in a comma list. Raises `InvalidValue`."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not all(NAME.fullmatch(name) for name in names):
        raise InvalidValue("use a comma list of names of hooks")
    if len(set(names)) < len(names):
        raise InvalidValue("name each hook once")
    if len(names) > _HOOKS_MOST:
        raise InvalidValue(f"name at most {_HOOKS_MOST} hooks")
    return names


HOOK_OPTIONS = (
    ingress_option(
        name="hooks",
        fills=(HookChoice, "names"),
        grammar=hook_names,
        prefix=OWN_PREFIX,
        doc="comma list of [hooks](hooks.md) that are asked about each request, in their order. The settings of one"
        " stand in the annotation `zonal-ingress.io/hook-NAME`, as JSON. An unknown name, or settings that do not fit,"
        " close the paths",
        if_invalid=closing(Severity.UNPROTECTED, "no hook is asked"),
    ),
)

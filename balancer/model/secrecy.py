"""Marks fields of the model that must never be shown, where the field is declared.

`pem: Annotated[bytes, SECRET]` is a secret field. Pages and documents show every other field.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Final, get_origin, get_type_hints

import msgspec

SECRET: Final = msgspec.Meta(extra={"secret": True})
"""Marks a field whose value no page, log line or finding may contain."""


@cache
def shown_fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields of a struct that may be shown, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(name for name in kind.__struct_fields__ if not is_secret(hints[name]))


def is_secret(hint: Any) -> bool:
    """Whether the type of a field carries the mark."""
    return get_origin(hint) is Annotated and SECRET in hint.__metadata__

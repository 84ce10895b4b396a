"""The names of hooks in an annotation."""

from __future__ import annotations

import pytest

from ingress.settings.table.hooks import hook_names
from ingress.settings.values import InvalidValue


def test_names_keep_their_order() -> None:
    assert hook_names(" tenant, ab-test ,stamp,") == ("tenant", "ab-test", "stamp")
    assert hook_names("") == ()


@pytest.mark.parametrize("text", ["Tenant", "a b", "a,a", "a/b", ",".join(f"h{n}" for n in range(9)), "-a", "a\0"])
def test_what_names_no_hooks_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        hook_names(text)

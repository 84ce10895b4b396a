"""Events are values."""

from __future__ import annotations

import msgspec
import pytest

from ingress.objects.kinds import Kind
from ingress.sources.events import Removed, Replaced, SourceFindings, Upserted
from tests.unit.ingress.cluster import service

EVENTS = [
    (Replaced(Kind.SERVICE, (service(),)), Replaced(Kind.SERVICE, ())),
    (Upserted(service("a")), Upserted(service("b"))),
    (Removed(Kind.SERVICE, "shop", "a"), Removed(Kind.SECRET, "shop", "a")),
    (SourceFindings("folder", ()), SourceFindings("other", ())),
]


@pytest.mark.parametrize(("event", "other"), EVENTS)
def test_equal_content_is_an_equal_event_and_nothing_changes_it(event: msgspec.Struct, other: msgspec.Struct) -> None:
    assert event == msgspec.structs.replace(event)
    assert event != other
    with pytest.raises(AttributeError):
        setattr(event, event.__struct_fields__[0], None)

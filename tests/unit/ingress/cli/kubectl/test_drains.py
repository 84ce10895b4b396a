"""The list of drained zones."""

from __future__ import annotations

import msgspec
import pytest

from ingress.cli.kubectl import drains
from ingress.cli.kubectl.drains import Settings


@pytest.mark.parametrize(
    ("data", "drained"),
    [
        ({"zone-drain": " zone-b,zone-a,, zone-b "}, ("zone-a", "zone-b")),
        ({"zone-drain": ""}, ()),
        ({"other": "x"}, ()),
        (None, ()),
    ],
)
def test_the_list_is_read_as_zonal_reads_it(data: dict[str, str] | None, drained: tuple[str, ...]) -> None:
    body = msgspec.json.encode({"metadata": {"resourceVersion": "7"}, "data": data})
    assert drains.settings_of(body) == Settings("7", drained)


def test_what_is_no_configmap_is_told() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        drains.settings_of(b"[]")


def test_zones_are_added_once_and_removed_one_or_all() -> None:
    assert drains.with_zone(("zone-b",), "zone-a") == ("zone-a", "zone-b")
    assert drains.with_zone(("zone-a",), "zone-a") == ("zone-a",)
    assert drains.without(("zone-a", "zone-b"), "zone-a") == ("zone-b",)
    assert drains.without(("zone-a", "zone-b"), None) == ()


def test_a_patch_holds_the_version_that_was_read() -> None:
    assert msgspec.json.decode(drains.patch(Settings("7", ()), ("a", "b"))) == {
        "metadata": {"resourceVersion": "7"},
        "data": {"zone-drain": "a,b"},
    }

"""The list of drained zones."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from ingress.cli.kubectl import drains
from ingress.cli.kubectl.drains import Settings
from ingress.settings.zone_values import zone_drains

NOW = datetime(2027, 1, 31, 16, tzinfo=UTC).timestamp()
END = "2027-01-31T18:00:00Z"


@pytest.mark.parametrize(
    ("data", "drained"),
    [
        ({"zone-drain": " zone-b,zone-a,, zone-b "}, ("zone-a", "zone-b")),
        ({"zone-drain": f"zone-b until={END}, zone-a"}, ("zone-a", f"zone-b until={END}")),
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
    assert drains.with_drain(("zone-b",), "zone-a") == ("zone-a", "zone-b")
    assert drains.with_drain(("zone-a",), "zone-a") == ("zone-a",)
    assert drains.without(("zone-a", "zone-b"), "zone-a") == ("zone-b",)
    assert drains.without(("zone-a", "zone-b until=x"), "zone-b") == ("zone-a",)
    assert drains.without(("zone-a", "zone-b"), None) == ()


def test_a_drain_with_an_end_replaces_one_without_and_the_other_way_round() -> None:
    ending = drains.with_drain(("zone-a", "zone-b"), "zone-b", until=END)
    assert ending == ("zone-a", f"zone-b until={END}")
    assert zone_drains(",".join(ending))[1].until_epoch_seconds == NOW + 7200
    assert drains.with_drain(ending, "zone-b") == ("zone-a", "zone-b")


def test_drains_that_are_over_leave_no_zone() -> None:
    written = ("zone-a", f"zone-b until={END}", "zone-c until=soon")
    assert drains.zones_left(written, now_epoch_seconds=NOW) == {"zone-a", "zone-b", "zone-c"}
    assert drains.zones_left(written, now_epoch_seconds=NOW + 7200) == {"zone-a", "zone-c"}


@pytest.mark.parametrize("text", ["2h", "120m", "7200s", END, "2027-01-31T20:00:00+02:00"])
def test_an_end_is_said_as_a_duration_or_as_a_time(text: str) -> None:
    assert drains.end_of(text, now_epoch_seconds=NOW) == END


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("soon", "use a duration"),
        ("", "use a duration"),
        ("2027-01-31", "use a duration"),
        ("2027-01-31T18:00:00", "use a duration"),
        (f"{END},zone-c", "use a duration"),
        (f"{END},zone-c until={END}", "use a duration"),
        ("2027-02-31T18:00:00Z", "use a duration"),
        ("2026-12-31T18:00:00Z", "has passed"),
    ],
)
def test_what_is_no_end_is_told(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        drains.end_of(text, now_epoch_seconds=NOW)


def test_a_patch_holds_the_version_that_was_read() -> None:
    assert msgspec.json.decode(drains.patch(Settings("7", ()), ("a", "b"))) == {
        "metadata": {"resourceVersion": "7"},
        "data": {"zone-drain": "a,b"},
    }

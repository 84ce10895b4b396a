"""Changes of zone modes become notices about Services that exist."""

from __future__ import annotations

from balancer.model.zones import Zone
from balancer.zones.reasons import Reason
from ingress.following.zone_modes import ModeChange, ZoneMode
from ingress.writing.mode_notices import mode_notices
from ingress.writing.notices import event_name
from tests.unit.ingress.cluster import inventory, service

ZONAL, LEFT = ZoneMode(zonal=True, reason=Reason.ZONE_LOCAL), ZoneMode(zonal=False, reason=Reason.ZONE_EMPTY)


def test_a_change_becomes_a_notice_about_a_service_that_exists() -> None:
    known = inventory(service())
    changes = [ModeChange("shop", name, LEFT, Zone("zone-a")) for name in ("cart", "gone")]
    (notice,) = mode_notices(changes, known, epoch_seconds=0.0)
    assert notice.subject == ("Service", "shop", "cart")
    assert notice.reason == "ZoneModeLeft"
    assert notice.note == (
        "Since 00:00:00 UTC requests that arrive in zone-a go to the endpoints of every zone: "
        "The own zone has no ready endpoint. (zone_empty)"
    )
    (again,) = mode_notices(changes, known, epoch_seconds=60.0)
    assert event_name(again) != event_name(notice)


def test_a_return_has_a_reason_of_its_own() -> None:
    change = ModeChange("shop", "cart", ZONAL, None)
    (notice,) = mode_notices([change], inventory(service()), epoch_seconds=0.0)
    assert notice.reason == "ZoneModeEntered"
    assert change.sentence.startswith("requests that arrive in an unknown zone follow its zone policy again: ")

"""What the annotations of an Ingress set."""

from __future__ import annotations

from ingress.migration.overrides import overrides_of
from ingress.objects.converting import decode
from ingress.objects.kinds import Ingress
from ingress.settings.table.redirects import HostAliases, RedirectTargets
from tests.unit.ingress.migration.dumped import nginx


def test_what_parses_is_set_and_what_does_not_is_left_out() -> None:
    found = decode(nginx("web", server_alias="old.test, older.test", app_root="no path"))
    assert isinstance(found, Ingress)
    overrides = overrides_of(found)
    assert overrides.over(HostAliases()).names == ("old.test", "older.test")
    assert overrides.over(RedirectTargets()) == RedirectTargets()

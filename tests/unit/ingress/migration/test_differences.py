"""The table of differences names only what zonal carries out, and says how in one clause."""

from __future__ import annotations

from ingress.migration.differences import ANNOTATION_DIFFERENCES, HIDDEN_VALUES, KEY_DIFFERENCES, Difference
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.table.whole import CONFIGMAP_OPTIONS, INGRESS_OPTIONS


def test_every_difference_is_of_a_name_that_zonal_carries_out() -> None:
    assert {NGINX_PREFIX + name for name in (*ANNOTATION_DIFFERENCES, *HIDDEN_VALUES)} <= INGRESS_OPTIONS.keys()
    assert KEY_DIFFERENCES.keys() <= CONFIGMAP_OPTIONS.keys()


def test_every_difference_is_a_clause_for_a_table() -> None:
    for each in (*ANNOTATION_DIFFERENCES.values(), *KEY_DIFFERENCES.values()):
        assert each.how
        assert not each.how.endswith(".")
        assert "|" not in each.how


def test_a_difference_may_hold_for_some_values_only() -> None:
    difference = Difference("it differs", but_for=frozenset({"off"}))
    assert difference.holds_for("on")
    assert not difference.holds_for(" OFF ")
    difference = Difference("it differs", only=frozenset({"off"}))
    assert difference.holds_for("off")
    assert not difference.holds_for("on")

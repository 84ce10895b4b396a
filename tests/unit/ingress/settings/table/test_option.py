"""Overrides are laid over settings field by field, and an option knows its names."""

from __future__ import annotations

from balancer.model.endpoints import Ejection
from balancer.model.policies import RoutePolicy
from ingress.findings import Severity
from ingress.settings.table.backends import BackendSettings
from ingress.settings.table.option import BACKEND, OWN_PREFIX, Option, Overrides
from ingress.settings.unsupported import Loss, closing

OVERRIDES = Overrides({RoutePolicy: {"tries": 7}})


def option(loss: Loss) -> Option:
    return Option(
        name="some-name", sources=BACKEND, prefix=OWN_PREFIX, fills=None, grammar=str, doc="", if_invalid=loss
    )


def test_what_is_set_is_replaced_and_the_rest_stays() -> None:
    assert OVERRIDES.over(RoutePolicy(max_body_bytes=5)) == RoutePolicy(max_body_bytes=5, tries=7)


def test_settings_of_which_nothing_is_set_are_the_same_object() -> None:
    ejection = Ejection()
    assert OVERRIDES.over(ejection) is ejection
    assert (OVERRIDES.of(Ejection), OVERRIDES.of(RoutePolicy)) == ({}, {"tries": 7})


def test_each_struct_in_settings_gets_what_is_set() -> None:
    both = Overrides({Ejection: {"seconds": 3.0}, BackendSettings: {"panic_percent": 1}})
    settings = both.throughout(BackendSettings())
    assert settings == BackendSettings(panic_percent=1, ejection=Ejection(seconds=3.0))


def test_an_annotation_is_the_name_behind_the_prefix() -> None:
    assert option(Loss(Severity.DEGRADED, "")).annotation == "zonal-ingress.io/some-name"


def test_an_option_closes_if_its_loss_does() -> None:
    assert not option(Loss(Severity.UNPROTECTED, "")).closes
    assert option(closing(Severity.UNPROTECTED, "")).closes

"""A name is either carried out or known, never both."""

from __future__ import annotations

from ingress.known_names import NGINX_ANNOTATIONS, NGINX_SETTINGS
from ingress.settings import SETTINGS
from ingress.translation.annotations import ANNOTATIONS, NGINX_PREFIX


def test_a_setting_that_is_carried_out_has_left_the_lists() -> None:
    assert SETTINGS.keys().isdisjoint(NGINX_SETTINGS)


def test_an_annotation_that_is_carried_out_has_left_the_lists() -> None:
    assert ANNOTATIONS.keys().isdisjoint(NGINX_PREFIX + name for name in NGINX_ANNOTATIONS)


def test_all_annotations_of_ingress_nginx_are_known_or_carried_out() -> None:
    carried_out = {name for name in ANNOTATIONS if name.startswith(NGINX_PREFIX)}
    # 136 documented ones, and the aliases whitelist-source-range and limit-whitelist.
    assert len(NGINX_ANNOTATIONS) + len(carried_out) == 138

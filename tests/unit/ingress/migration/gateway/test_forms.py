"""Each annotation has a form in Gateway API, or the reason why its paths are not written."""

from __future__ import annotations

import pytest

from ingress.migration.gateway.forms import Form, form_of, forms_of, kept_annotations, withholding
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.table.whole import INGRESS_OPTIONS
from ingress.settings.unsupported import UNSUPPORTED_ANNOTATIONS


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("rewrite-target", Form.FIELD),
        ("proxy-read-timeout", Form.ANNOTATION),
        ("limit-rps", Form.ANNOTATION),
        ("zonal-ingress.io/zone-policy", Form.ANNOTATION),
        ("session-cookie-path", Form.DIFFERS),
        ("proxy-buffer-size", Form.NOTHING),
        ("proxy-read-timout", Form.NOTHING),
        ("custom-http-errors", Form.NONE),
        ("auth-url", Form.WITHHOLDS),
        ("auth-tls-secret", Form.WITHHOLDS),
        ("configuration-snippet", Form.WITHHOLDS),
        ("enable-modsecurity", Form.WITHHOLDS),
        ("zonal-ingress.io/hook-stamp", Form.WITHHOLDS),
    ],
)
def test_an_annotation_has_a_form(name: str, form: Form) -> None:
    assert form_of(name, "true").form is form


def test_a_name_that_nobody_knows_is_told_as_such() -> None:
    assert form_of("proxy-read-timout", "60").how == "neither ingress-nginx nor zonal knows the name"


def test_every_annotation_that_protects_has_a_form_or_withholds_its_paths() -> None:
    lost = {Form.NONE, Form.NOTHING}
    silent = [
        option.name
        for name, option in INGRESS_OPTIONS.items()
        if option.closes and form_of(name.removeprefix(NGINX_PREFIX), "true").form in lost
    ]
    silent += [name for name, loss in UNSUPPORTED_ANNOTATIONS.items() if loss.closes.value and _is_lost(name, lost)]
    assert silent == []


def _is_lost(name: str, lost: set[Form]) -> bool:
    return form_of(name, "asks for something").form in lost


def test_those_of_others_are_left_out_and_values_that_ask_for_nothing_are_not_needed() -> None:
    found = forms_of({"example.com/x": "1", NGINX_PREFIX + "enable-modsecurity": "false"})
    assert [(each.name, each.form) for each in found] == [("enable-modsecurity", Form.NOTHING)]


def test_a_route_keeps_what_becomes_ours() -> None:
    said = {
        NGINX_PREFIX + "limit-rps": "5",
        "zonal-ingress.io/zone-policy": "hints",
        NGINX_PREFIX + "affinity": "cookie",
    }
    assert kept_annotations(said) == {"zonal-ingress.io/limit-rps": "5", "zonal-ingress.io/zone-policy": "hints"}


def test_what_withholds_is_told() -> None:
    assert withholding(forms_of({NGINX_PREFIX + "auth-url": "http://a"})).startswith(
        "auth-url has no form: write a hook"
    )
    assert withholding(forms_of({NGINX_PREFIX + "limit-rps": "5"})) == ""


def test_a_secret_value_is_not_shown() -> None:
    assert form_of("auth-proxy-set-headers", "x").value != ""

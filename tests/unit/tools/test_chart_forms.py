"""What the chart's schema says of the values of each setting, compared with the grammars that zonal reads them by."""

from __future__ import annotations

import re

import pytest

from ingress.settings.table.whole import CONFIGMAP_OPTIONS
from ingress.settings.values import Word
from tools.chart_forms import FORMS, FREE, form_of, takes

TEXTS = (
    *("", " ", "0", "7", "+7", "-7", "007", "404", "0503", "308", "+301", "4096", "16384", "1000000", "123456789"),
    *("1m", "1M", "64k", "2G", "10b", "999999999999", "16384k", "4 8k", "4  8k", " 4 8k ", "+4 8k", "4 8"),
    *("5s", "500ms", "2m", "1h", "0s", "007ms", "200 202 401 5m", " 200  5m , ,404 1d,", "1y", "5M", ",", " , "),
    *("0.5", "1.", ".25", "1.0", " 0.01 ", "0.02", "a>b=0.01,*=0.02", " a > b = 0.01 , *=1", "zone-a>zone-a=0"),
    *("5%", "0.5ms", "5%+0.5ms", "5%+1s", "10.0.0.0/8", "::1, 10.0.0.1", " , fd00::/8 ,", "::ffff:10.0.0.1"),
    *("on", "off", "true", "false", "True", "T", "round_robin", "ewma", "least_request"),
    *("error timeout http_502", " off ", "non_idempotent", "TLSv1.2", "TLSv1.3 TLSv1.2", " TLSv1 TLSv1.2 "),
    *("AlwaysOn", "AlwaysOff", "TraceIdRatioBased", " grpc", "http/protobuf", "low", "Critical", "hIGH", "Medium"),
    *("GET", " POST ", "zonal/fields", "a/b.c", "auto", "prefer-zone", "hints", "ordered:a/b,*", "proportional"),
)


def test_every_option_has_a_form_or_is_free() -> None:
    without = {name for name, option in CONFIGMAP_OPTIONS.items() if form_of(option.grammar) is None}
    assert without == FREE, "a new option needs a form here, or is a text of people"
    assert set(FORMS) <= set(CONFIGMAP_OPTIONS)


def test_a_form_takes_whatever_its_grammar_takes() -> None:
    """Otherwise Helm would refuse what zonal serves."""
    refused = []
    for name, option in CONFIGMAP_OPTIONS.items():
        words = option.grammar.meanings if isinstance(option.grammar, Word) else ()
        form = form_of(option.grammar)
        for text in (*TEXTS, *words, *(f" {word} " for word in words)):
            if form is not None and takes(option.grammar, text) and not re.search(form["pattern"], text):
                refused.append((name, text))
    assert refused == []


def test_every_form_is_compared_with_a_text_that_it_takes() -> None:
    unseen = [name for name in FORMS if not any(takes(CONFIGMAP_OPTIONS[name].grammar, text) for text in TEXTS)]
    assert unseen == []


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("proxy-body-size", "8x"),
        ("proxy-body-size", "8 m"),
        ("client-body-buffer-size", "8kb"),
        ("client-body-buffer-size", "1.5m"),
        ("http2-max-header-size", "large"),
        ("large-client-header-buffers", "8k"),
        ("ejection-time", "10"),
        ("ejection-time", "10 s"),
        ("health-check-interval", "5sec"),
        ("stream-idle-timeout", "1d"),
        ("zone-drain-ramp", "0"),
        ("global-auth-cache-duration", "200 5x"),
        ("limit-rate", "8k"),
        ("proxy-read-timeout", "60s"),
        ("http-redirect-code", "303"),
        ("load-balance", "random"),
        ("zone-toll", "5"),
        ("zone-transfer-prices", "$0.02"),
        ("zone-policy", "prefer"),
        ("fleet", "dryrun"),
        ("path-parameters", "drop"),
        ("whitelist-source-range", "10.0.0.0-10.0.0.9"),
        ("ssl-protocols", "TLS1.2"),
    ],
)
def test_a_wrong_size_time_or_word_has_no_form(name: str, wrong: str) -> None:
    option = CONFIGMAP_OPTIONS[name]
    form = form_of(option.grammar)
    assert form is not None
    assert not takes(option.grammar, wrong)
    assert not re.search(form["pattern"], wrong)


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("proxy-body-size", ["string", "number"]),
        ("otel-sampler-ratio", ["string", "number"]),
        ("ejection-time", "string"),
        ("proxy-http-version", "string"),
        ("fleet", "string"),
    ],
)
def test_yaml_has_a_number_only_where_its_text_is_a_value(name: str, types: object) -> None:
    """YAML reads `1.0` as 1, and `on` as true: neither is the word that was written."""
    form = form_of(CONFIGMAP_OPTIONS[name].grammar)
    assert form is not None
    assert form["type"] == types

"""What becomes of each annotation and key: what the tables say, corrected by what the translation found."""

from __future__ import annotations

import pytest

from ingress.findings import MORE, Finding, Severity
from ingress.migration.names import (
    annotation_reviews,
    key_reviews,
    standing_of_annotation,
    standing_of_key,
    unnamed,
)
from ingress.migration.verdicts import NameReview, NameStanding
from ingress.settings.table.option import NGINX_PREFIX

SAME, DIFFERS, SATISFIED, IGNORED, REFUSED = NameStanding


def finding(message: str, severity: Severity = Severity.DEGRADED, reason: str = "InvalidValue") -> Finding:
    return Finding("Ingress", "shop", "web", reason, message, "Something happens.", severity)


def reviewed(name: str, value: str, *findings: Finding) -> NameReview:
    (found,) = annotation_reviews({NGINX_PREFIX + name: value}, findings)
    return found


@pytest.mark.parametrize(
    ("name", "value", "standing"),
    [
        ("proxy-read-timeout", "30", SAME),
        ("affinity", "cookie", DIFFERS),
        ("proxy-buffer-size", "16k", SATISFIED),
        ("enable-modsecurity", "false", SATISFIED),
        ("enable-websockets", "true", IGNORED),
        ("no-such-thing", "1", IGNORED),
    ],
)
def test_a_name_without_a_finding_stands_as_the_tables_say(name: str, value: str, standing: NameStanding) -> None:
    assert reviewed(name, value).standing is standing


@pytest.mark.parametrize(
    ("told", "standing"),
    [
        (finding("Annotation nginx.ingress.kubernetes.io/proxy-read-timeout is no number."), IGNORED),
        (finding("proxy-read-timeout is too long.", Severity.CLOSED, "ClosedByAnnotation"), REFUSED),
        (finding("proxy-read-timeout is large.", Severity.DEGRADED, "ValueCapped"), DIFFERS),
        (finding("x-proxy-read-timeout is large."), SAME),
        # Of another annotation, with this one as what to write instead.
        (finding("server-snippet: line 1. To be served, use the annotation proxy-read-timeout."), SAME),
        (finding("http-snippet: line 1. Instead, use proxy-read-timeout."), SAME),
        (finding("The object in proxy-read-timeout.yaml is twice."), SAME),
    ],
)
def test_a_finding_about_the_name_outranks_the_tables(told: Finding, standing: NameStanding) -> None:
    found = reviewed("proxy-read-timeout", "30", told)
    assert found.standing is standing
    assert (told.message in found.how) is (standing is not SAME)


def test_a_name_that_is_a_word_is_named_only_at_the_beginning_of_a_finding() -> None:
    assert reviewed("canary", "true", finding("The canary gets nothing.")).standing is SAME
    assert reviewed("canary", "maybe", finding("Annotation nginx.ingress.kubernetes.io/canary is.")).standing is IGNORED


def test_a_refusal_that_the_translation_did_not_make_is_none_unless_findings_were_cut_off() -> None:
    assert reviewed("modsecurity-snippet", "deny all;").standing is SATISFIED
    assert reviewed("modsecurity-snippet", "deny all;", finding(MORE)).standing is REFUSED


def test_annotations_of_others_are_left_out_and_those_of_zonal_are_not() -> None:
    found = annotation_reviews({"cert-manager.io/issuer": "x", "zonal-ingress.io/zone-policy": "off"}, ())
    assert [(each.name, each.standing) for each in found] == [("zonal-ingress.io/zone-policy", SAME)]


def test_no_value_that_hides_a_canary_is_shown_and_no_control_character() -> None:
    assert reviewed("canary-by-header-value", "s3cret").value == "(hidden)"
    assert "\n" not in reviewed("proxy-read-timeout", "3\n0").value


def test_keys_of_the_configmap_stand_by_their_own_tables() -> None:
    found = key_reviews({"worker-processes": "4", "keep-alive": "75", "enable-modsecurity": "false"}, ())
    assert {each.name: each.standing for each in found} == {
        "worker-processes": IGNORED,
        "keep-alive": SAME,
        "enable-modsecurity": SATISFIED,
    }


def test_findings_that_name_nothing_remain() -> None:
    told = [finding("keep-alive is odd."), finding("There is no Service.")]
    names = key_reviews({"keep-alive": "75"}, told)
    assert [*unnamed(names, told)] == [told[1]]


def test_the_page_asks_for_names_that_ask_for_something() -> None:
    assert standing_of_annotation("enable-modsecurity")[0] is REFUSED
    assert standing_of_annotation("proxy-buffer-size") == (SATISFIED, "")
    assert standing_of_key("worker-processes") == (IGNORED, "the key tunes a part of nginx that zonal does not have")
    assert standing_of_key("keep-alive") == (SAME, "")

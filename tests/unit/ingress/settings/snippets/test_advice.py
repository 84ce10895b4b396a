"""Whoever wrote a line that is not carried out is told what to write instead."""

from __future__ import annotations

import pytest

from ingress.settings.snippets.advice import INSTEAD, instead_of
from ingress.settings.table.option import NGINX_PREFIX
from ingress.settings.table.whole import CONFIGMAP_OPTIONS, INGRESS_OPTIONS


@pytest.mark.parametrize(
    ("directive", "word"),
    [("proxy_read_timeout", "proxy-read-timeout"), ("location", "Ingress"), ("content_by_lua_block", "hook")],
)
def test_the_advice_names_what_does_the_same(directive: str, word: str) -> None:
    assert word in instead_of(directive)


def test_annotations_and_keys_in_the_advice_exist() -> None:
    known = {name.removeprefix(NGINX_PREFIX) for name in INGRESS_OPTIONS} | set(CONFIGMAP_OPTIONS)
    known |= {"proxy-buffering", "keep-alive"}
    said = {word.strip(",") for text in INSTEAD.values() for word in text.split() if "-" in word and "*" not in word}
    assert said <= known

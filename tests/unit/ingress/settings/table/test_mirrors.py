"""How the options of mirrors are read."""

from __future__ import annotations

import pytest

from balancer.model.mirroring import Mirroring
from ingress.settings.table.mirrors import MirrorSettings, mirror_host, mirror_target, on_or_off
from ingress.settings.values import InvalidValue


@pytest.mark.parametrize(
    "text", ["https://m.test$request_uri", "http://m.test:8080/x?a=$args", "http://[::1]/", "http://192.0.2.1"]
)
def test_a_target_is_a_url_with_variables_in_its_path(text: str) -> None:
    assert mirror_target(f" {text} ") == text


@pytest.mark.parametrize(
    "text", ["m.test", "http://$host/", "http://m.test:70000/", "http://m.test/$nothing", "ftp://x"]
)
def test_what_is_no_target(text: str) -> None:
    with pytest.raises(InvalidValue):
        mirror_target(text)


def test_the_host_of_copies() -> None:
    assert mirror_host(" m.test ") == "m.test"
    assert mirror_host("") == ""
    for text in ("a b", "m.test\r\nX: y", "$host"):
        with pytest.raises(InvalidValue):
            mirror_host(text)


def test_flags_are_written_as_nginx_writes_them() -> None:
    assert (on_or_off("on"), on_or_off(" off ")) == (True, False)
    with pytest.raises(InvalidValue):
        on_or_off("true")


def test_a_host_is_that_of_the_target_unless_it_is_said() -> None:
    assert MirrorSettings().mirroring() is None
    assert MirrorSettings("http://m.test:80/x").mirroring() == Mirroring("http://m.test:80/x", "m.test")
    assert MirrorSettings("http://m.test/", "other", with_body=False).mirroring() == Mirroring(
        "http://m.test/", "other", with_body=False
    )

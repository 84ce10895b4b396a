"""Texts of scripts: variables of requests and of scripts, captures, and nothing else."""

from __future__ import annotations

import pytest

from balancer.http.origin import Origin
from balancer.matching.gates.script_texts import ScriptRun, compile_script_text, has_variables, safe_value
from balancer.matching.gates.verdicts import Asked
from balancer.matching.variables import UnknownVariable
from balancer.model.entry_points import HTTP
from tests.questions import question_of


def run(*fields: str, underscores: bool = False) -> ScriptRun:
    origin = Origin(peer="192.0.2.1", entry_point=HTTP)
    made = ScriptRun(Asked(question_of("http://shop.test/a?b=c", fields).request, origin, False), underscores)
    made.variables["own"] = b"mine"
    made.captures = (b"one", b"two")
    return made


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", b"plain"),
        ("", b""),
        ("$host${own}$1$2x", b"shop.testmineonetwox"),
        ("$12", b"one2"),
        ("$other", b""),
        ("$scheme://$http_host$request_uri", b"http://shop.test/a?b=c"),
    ],
)
def test_values(text: str, expected: bytes) -> None:
    assert compile_script_text(text, {"own", "other"}, 2)(run()) == expected


def test_the_time_is_that_of_the_request() -> None:
    asked = run().asked
    assert compile_script_text("t=${msec}")(ScriptRun(asked, now=lambda: 1722470400.1236)) == b"t=1722470400.124"
    assert compile_script_text("t=$msec")(ScriptRun(asked)) == b"t=", "nobody sends this request"


@pytest.mark.parametrize("text", ["$own", "$1", "$", "$ a", "${host", "$upstream_addr"])
def test_unknown_names_are_refused(text: str) -> None:
    with pytest.raises(UnknownVariable):
        compile_script_text(text)


@pytest.mark.parametrize(
    ("fields", "underscores", "value"),
    [
        (("X-A: 1", "X-B: 0", "x-a: 2"), False, b"1, 2"),
        (("X_A: 1", "X-A: 2"), False, b"2"),
        (("X_A: 1", "X-A: 2"), True, b"1, 2"),
        ((), True, b""),
    ],
)
def test_a_field_is_read_as_nginx_reads_it(fields: tuple[str, ...], underscores: bool, value: bytes) -> None:
    assert compile_script_text("$http_x_a")(run(*fields, underscores=underscores)) == value


def test_cookies_are_those_of_all_fields() -> None:
    assert compile_script_text("$cookie_a/$cookie_b/$cookie_c")(run("Cookie: a=1; b = 2", "Cookie: a=3")) == b"1/2/"


def test_values_end_no_field() -> None:
    assert safe_value(b"a\r\nb\tc") == b"a%0D%0Ab\tc"
    assert has_variables("a$b") and not has_variables("ab")

"""A request that is matched anew: its new path, and what of its client stays."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind, Refusal
from balancer.matching.gates.leading import is_led, led_to, onward_target, said_before, sent_on
from balancer.matching.gates.verdicts import PASSED, Go, NewPath
from tests.questions import question_of

REQUEST = question_of("http://shop.test/a%20b?c=d").request


def test_the_path_is_new_and_the_target_stays() -> None:
    said = Go(((b"X-A", b"1"),))
    led = led_to(REQUEST, NewPath(b"/x y?z", 3), said)
    assert (led.path, led.target, led.onward, led.turns) == (b"/x y?z", b"/a%20b?c=d", b"/x%20y%3Fz?c=d", 3)
    assert (led.method, led.fields, led.repeated) == (REQUEST.method, REQUEST.fields, REQUEST.repeated)
    assert (is_led(led), onward_target(led), said_before(led)) == (True, led.onward, said)
    assert sent_on(led).target == led.onward


def test_a_request_that_goes_its_way_says_so() -> None:
    assert (is_led(REQUEST), onward_target(REQUEST), said_before(REQUEST)) == (False, REQUEST.target, PASSED)
    assert led_to(REQUEST, NewPath(b"/x"), PASSED).before is not PASSED


@pytest.mark.parametrize(
    ("path", "kind"), [(b"/a/../b", ErrorKind.BAD_REQUEST), (b"/" + b"a" * 40_000, ErrorKind.TARGET_TOO_LONG)]
)
def test_a_path_that_could_leave_what_is_meant_is_refused(path: bytes, kind: ErrorKind) -> None:
    with pytest.raises(Refusal) as refused:
        led_to(REQUEST, NewPath(path), PASSED)
    assert refused.value.kind is kind

"""What follows on a relay from the end of one side, and when another endpoint may be tried."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from balancer.relays.states import AfterEnd, Fault, Halves, may_go_elsewhere, status_of


@pytest.mark.parametrize("first", [True, False])
def test_the_first_end_goes_on_and_the_second_closes(first: bool) -> None:
    halves = Halves()
    assert halves.ended(is_client=first) is AfterEnd.HALF_CLOSE
    assert halves.has_ended(is_client=first)
    assert not halves.has_ended(is_client=not first)
    assert halves.ended(is_client=first) is AfterEnd.NOTHING
    assert halves.ended(is_client=not first) is AfterEnd.CLOSE


@pytest.mark.parametrize(
    ("kind", "tried", "tries", "may"),
    [
        (ErrorKind.CONNECT_REFUSED, 1, 3, True),
        (ErrorKind.CONNECT_REFUSED, 3, 3, False),
        (ErrorKind.CONNECT_TIMEOUT, 9, 0, True),
        (ErrorKind.ENDPOINT_TLS, 1, 2, True),
        (ErrorKind.OVERLOADED, 1, 3, False),
        (ErrorKind.CLIENT_LEFT, 1, 3, False),
    ],
)
def test_only_what_another_endpoint_may_do_better_is_tried_again(
    kind: ErrorKind, tried: int, tries: int, may: bool
) -> None:
    assert may_go_elsewhere(kind, tried=tried, tries=tries) is may


def test_every_end_has_a_status() -> None:
    assert status_of(None) == 200
    assert {status_of(each) for each in Fault} == {200, 403, 404}
    assert {status_of(each) for each in ErrorKind} == {200, 500, 502, 503, 504}

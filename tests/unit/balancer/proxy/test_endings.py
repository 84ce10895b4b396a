"""Each way in which a request ends."""

from __future__ import annotations

import pytest

from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.proxy.endings import Ending, ending_of


@pytest.mark.parametrize(
    ("error", "page_status", "ending"),
    [
        (None, 0, Ending.WHOLE),
        (None, 503, Ending.WHOLE),
        (AttemptError(ErrorKind.ENDPOINT_CLOSED, Sent.HEAD, answered=True), 0, Ending.CUT),
        (AttemptError(ErrorKind.ENDPOINT_CLOSED, Sent.HEAD, answered=True), 503, Ending.CUT),
        (AttemptError(ErrorKind.PASSED_OVER, Sent.HEAD), 0, Ending.PAGE),
        (AttemptError(ErrorKind.ENDPOINT_TIMEOUT, Sent.HEAD), 503, Ending.STATUS),
        (AttemptError(ErrorKind.CLIENT_LEFT, Sent.HEAD), 503, Ending.ERROR),
        (AttemptError(ErrorKind.ENDPOINT_TIMEOUT, Sent.HEAD), 0, Ending.ERROR),
    ],
)
def test_how_a_request_ends(error: AttemptError | None, page_status: int, ending: Ending) -> None:
    assert ending_of(error, page_status) is ending

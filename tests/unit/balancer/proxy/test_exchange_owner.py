"""An owner of exchanges that leaves a question open is noticed, and does not answer by default."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from balancer.errors import Sent
from balancer.proxy.attempts import Attempts
from balancer.proxy.exchange_owner import ExchangeOwner


@pytest.mark.parametrize(
    "asks",
    [
        lambda owner: owner.passes_over(503, True),
        lambda owner: owner.leaves_silent(Sent.HEAD),
        lambda owner: owner.limit_passed(),
        lambda owner: owner.exchange_ended(None, False, 2.0, 1.0),
    ],
)
def test_no_question_has_an_answer_by_default(asks: Callable[[ExchangeOwner], object]) -> None:
    with pytest.raises(NotImplementedError):
        asks(ExchangeOwner())


def test_attempts_answer_all_of_them() -> None:
    asked = {name for name in vars(ExchangeOwner) if not name.startswith("_")}
    assert asked == {"passes_over", "leaves_silent", "limit_passed", "exchange_ended"}
    assert asked <= vars(Attempts).keys()

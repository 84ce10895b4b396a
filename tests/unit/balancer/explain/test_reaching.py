"""An endpoint is explained for requests with their limits, and for streams without."""

from __future__ import annotations

import pytest

from balancer.explain.explanations import empty
from balancer.explain.reaching import Moment, endpoint_draft
from tests import builders as build
from tests.questions import question_of
from tests.unit.balancer.asked import CART, view_of


@pytest.mark.parametrize("of_stream", [False, True])
def test_limits_are_those_of_requests(of_stream: bool) -> None:
    hosts = [build.host("shop.test", build.route())]
    view = view_of(build.model(build.backend(CART, build.endpoints("a")), hosts=hosts))
    question = question_of("http://shop.test/")
    match = view.configurations["http"].match(b"shop.test", b"/", b"/", question.request)
    assert match is not None
    told = empty(host="shop.test", path="/", own=view.own_zone)
    draft = endpoint_draft(told, match.served.main, Moment(question, view, 0.0, False), of_stream=of_stream)
    assert (draft.explanation.limits is None) is of_stream
    assert len(draft.explanation.pool) == 1

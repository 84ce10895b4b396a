"""An explanation by what was recorded is the one by the objects themselves, whatever serves in the end."""

from __future__ import annotations

import msgspec
import pytest

from balancer.explain.explaining import explain
from balancer.live import View
from balancer.model.policies import Affinity
from balancer.model.routes import Route
from balancer.workers.background import RecordedBackground, record
from tests import builders as build
from tests.questions import question_of
from tests.unit.balancer.asked import CLIENT, Told, explained, shop, with_canary


def recorded(view: View, *fields: str, url: str = "http://shop.test/") -> RecordedBackground:
    """By the way of a message."""
    question = question_of(url, fields, client=CLIENT)
    sent = msgspec.msgpack.encode(record(question, view.routes, background=Told()))
    return msgspec.msgpack.decode(sent, type=RecordedBackground)


@pytest.mark.parametrize("fields", [(), ("X-Try: always",), ("X-Try: never",)])
@pytest.mark.parametrize("next_zones", ["b", ""], ids=["canary with endpoints", "canary without"])
@pytest.mark.parametrize(
    "route",
    [build.route(), with_canary(30), with_canary(100), with_canary(60, affinity=Affinity()), build.route(to=None)],
    ids=["plain", "canary", "all to the canary", "sticky canary", "broken"],
)
def test_an_explanation_by_the_record_is_that_by_the_objects(
    route: Route, next_zones: str, fields: tuple[str, ...]
) -> None:
    view = shop(route, next=next_zones)
    question = question_of("http://shop.test/", fields, client=CLIENT)
    found = explain(question, view, background=recorded(view, *fields), now=0.0, live=True)
    assert found == explained(view, *fields)


def test_what_no_route_takes_is_told_by_the_record_too() -> None:
    view, url = shop(build.route("/cart")), "http://other.test/"
    found = explain(question_of(url), view, background=recorded(view, url=url), now=0.0, live=True)
    assert found == explained(view, url=url)
    assert "findings of other.test" in found.steps


def test_a_route_that_came_since_the_recording_is_explained_without_its_objects() -> None:
    earlier, view = shop(build.route("/cart")), shop(build.route("/", ingress="other"))
    found = explain(question_of("http://shop.test/"), view, background=recorded(earlier), now=0.0, live=True)
    assert (found.ingress, found.policy_source) == ("shop/other", "unknown")
    assert found.pool == explained(view).pool

"""What is told about a question is about the newest model, which is compiled once however often it is asked about."""

from __future__ import annotations

import asyncio

import pytest

from balancer.explain.asking import BadQuestion
from balancer.matching.routing import RouteTable, compile_routes
from balancer.model.publication import Publication, RoutingModel
from balancer.workers.background import RecordedBackground
from ingress.explain import questions
from ingress.explain.evidence import Evidence
from ingress.explain.questions import Questions
from ingress.settings.context import TranslationContext
from tests import builders as build
from tests.unit.ingress import cluster

EVIDENCE = Evidence(
    cluster.inventory(cluster.ingress_class(), cluster.service(), cluster.ingress("web", cluster.rule())),
    TranslationContext(),
)


def shop(path: str) -> RoutingModel:
    return build.model(build.backend(), hosts=[build.host("shop.test", build.route(path))])


async def told(asked: Questions, url: str, publication: Publication | None) -> RecordedBackground:
    return await asked.background(url, (), client="", publication=publication, evidence=EVIDENCE)


async def test_the_routes_of_the_newest_model_count() -> None:
    asked = Questions()
    assert (await told(asked, "http://shop.test/a", None)).routes == ()
    assert (await told(asked, "http://shop.test/a", build.publication(1, shop("/b")))).routes == ()
    (about,) = (await told(asked, "http://shop.test/a", build.publication(2, shop("/a")))).routes
    assert about.route == ("shop", "web", "cart")
    assert about.source.source == "flag-off"


async def test_findings_are_told_without_a_route_too() -> None:
    assert (await told(Questions(), "http://shop.test/", None)).findings


async def test_a_question_that_makes_no_sense_is_refused_here() -> None:
    with pytest.raises(BadQuestion):
        await told(Questions(), "no url", build.publication(1, shop("/")))


async def test_a_model_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[RoutingModel] = []

    def noted(model: RoutingModel, before: RouteTable | None = None) -> RouteTable:
        compiled.append(model)
        return compile_routes(model, before)

    monkeypatch.setattr(questions, "compile_routes", noted)
    asked = Questions()
    publication = build.publication(1, shop("/"))
    for _ in range(3):
        await told(asked, "http://shop.test/", publication)
    assert compiled[1:] == [publication.model]
    await asyncio.gather(*(told(asked, "http://shop.test/", publication) for _ in range(3)))
    assert compiled[1:] == [publication.model]

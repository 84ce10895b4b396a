"""Why clients should not come, the nearest reason first."""

from __future__ import annotations

import msgspec

from balancer.model.zones import OwnZone, Zone, ZoneFacts
from ingress.admin.readiness import Readiness
from ingress.following.publishing import Published
from ingress.replicas.facts import FleetFacts
from tests.unit.ingress.cluster import endpoint_slice, ingress, rule, service, translated

A, B = Zone("zone-a"), Zone("zone-b")


def published(facts: ZoneFacts | None = None) -> Published:
    made, translation = Published(lambda _: None), translated(ingress("web", rule()), service(), endpoint_slice())
    model = msgspec.structs.replace(translation.model, own_zone=OwnZone(A, source="flag"), zones=facts or ZoneFacts())
    made.publish(msgspec.structs.replace(translation, model=model), translation_seconds=0.1)
    return made


def problem(of: Published, *, workers: str | None = None, is_away: bool = False, draining: bool = False) -> str | None:
    readiness = Readiness(of, workers=lambda: workers, fleet_facts=lambda: FleetFacts(is_away=is_away))
    readiness.draining = draining
    return readiness.problem()


def test_a_replica_that_serves_has_no_problem() -> None:
    assert problem(published()) is None


def test_before_its_first_model_and_after_its_last_word_it_is_not_ready() -> None:
    assert problem(Published(lambda _: None)) == "no configuration yet"
    assert problem(published(), draining=True) == "draining"


def test_a_drained_zone_is_left_where_another_has_a_replica() -> None:
    drained = ZoneFacts(drained=(A,), drained_replicas_leave=True, replicas=((A, 1), (B, 1)))
    assert "zone zone-a is drained" in (problem(published(drained)) or "")
    alone = msgspec.structs.replace(drained, replicas=((A, 1),))
    assert problem(published(alone)) is None


def test_what_fails_here_alone_is_left_and_then_the_workers_are_asked() -> None:
    assert "fails in all zones" in (problem(published(), is_away=True, workers="no worker") or "")
    assert problem(published(), workers="no worker") == "no worker"

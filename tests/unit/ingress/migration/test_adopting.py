"""The class of another controller is read as ours, and nothing else changes."""

from __future__ import annotations

from ingress.migration.adopting import Adoption
from ingress.objects.kinds import IngressClass, IngressClassSpec, Kind, Metadata
from ingress.sources.events import Removed, Replaced, Upserted

ADOPTION = Adoption("nginx", "zonal")


def class_of(name: str, controller: str) -> IngressClass:
    marks = {"ingressclass.kubernetes.io/is-default-class": "true"}
    return IngressClass(Metadata(name=name, annotations=marks), IngressClassSpec(controller=controller))


def test_the_class_is_ours_and_keeps_what_else_it_says() -> None:
    nginx, other = class_of("nginx", "k8s.io/ingress-nginx"), class_of("traefik", "traefik.io/controller")
    event = ADOPTION.adopted(Replaced(Kind.INGRESS_CLASS, (nginx, other)))
    assert event == Replaced(Kind.INGRESS_CLASS, (class_of("nginx", "zonal"), other))
    assert ADOPTION.adopted(Upserted(nginx)) == Upserted(class_of("nginx", "zonal"))
    assert ADOPTION.adopted(Upserted(other)) == Upserted(other)


def test_a_class_that_the_dump_lacks_exists() -> None:
    event = ADOPTION.adopted(Replaced(Kind.INGRESS_CLASS, ()))
    assert event == Replaced(Kind.INGRESS_CLASS, (IngressClass(Metadata(name="nginx"), IngressClassSpec("zonal")),))


def test_other_events_pass() -> None:
    for event in (Replaced(Kind.SERVICE, ()), Removed(Kind.INGRESS_CLASS, "", "nginx")):
        assert ADOPTION.adopted(event) is event

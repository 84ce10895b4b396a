"""A change put on the model before gives the model after, whatever changed, and what stayed is the same object."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.certificates import Authority, Certificate, ClientCertificate
from balancer.model.endpoints import EndpointTls
from balancer.model.publication import Publication, RoutingModel
from balancer.model.route_configurations import RouteConfiguration
from balancer.runtime.steps import finished
from balancer.workers.deltas import Delta, Piece, PublicationAssembler, Unfitting, applying, delta, joined, pieces
from balancer.workers.parts import PARTS, Key
from tests import builders as build
from tests.properties import examples
from tests.unit.balancer.any_models import models

EMPTY = RoutingModel()


def applied(before: RoutingModel, change: Delta) -> RoutingModel:
    """The model that `change` makes of `before`."""
    return finished(applying(before, change))


def taken(gathering: PublicationAssembler, piece: Piece) -> Publication | None:
    """The publication that `piece` completes, or None."""
    making = gathering.add(piece)
    return None if making is None else finished(making)


def certificate(key: str) -> Certificate:
    return Certificate(key, chain_pem=b"chain", private_key_pem=b"key", expires_at_epoch_seconds=0.0)


@st.composite
def following(draw: st.DrawFn) -> tuple[RoutingModel, RoutingModel]:
    """A model and the one after it, which has some of its parts as they are and others in their place."""
    before, other = draw(models), draw(models)
    fields = {
        name: draw(st.sampled_from([getattr(before, name), getattr(other, name)]))
        for name in RoutingModel.__struct_fields__
    }
    for name in [part.name for part in PARTS]:
        if draw(st.booleans()):
            fields[name] = mixed(draw, getattr(before, name), getattr(other, name))
    return before, msgspec.structs.replace(before, **fields)


def mixed(draw: st.DrawFn, before: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    parts = {key_of(part): part for part in (*before, *other) if draw(st.booleans())}
    return tuple(part for _, part in sorted(parts.items()))


def key_of(part: Any) -> Key:
    return (part.listener, part.name) if hasattr(part, "name") else str(part.key)


@pytest.mark.large
@examples(25)
@given(following(), st.integers(1, 2**40))
def test_a_change_put_on_the_model_before_gives_the_model_after(
    two: tuple[RoutingModel, RoutingModel], generation: int
) -> None:
    """At the other end of a channel, in pieces, and with the objects that stay: two such models take long to draw."""
    before, after = two
    change = delta(before, after)
    made = applied(before, msgspec.msgpack.decode(msgspec.msgpack.encode(change), type=Delta))
    assert made == after
    _assert_what_stays_is_the_same(before, made)
    parts = list(pieces(change, generation))
    assert joined(part.delta for part in parts) == change
    assert [part.last for part in parts] == [False] * (len(parts) - 1) + [True]
    assert {part.generation for part in parts} == {generation}


def _assert_what_stays_is_the_same(before: RoutingModel, made: RoutingModel) -> None:
    for name in [part.name for part in PARTS]:
        past = {key_of(part): part for part in getattr(before, name)}
        for part in getattr(made, name):
            was = past.get(key_of(part))
            assert part is was or part != was


def test_nothing_changed_is_nothing_to_send_but_that() -> None:
    model = build.model(build.backend(of=build.endpoints("ab")), hosts=[build.host()])
    equal = build.model(build.backend(of=build.endpoints("ab")), hosts=[build.host()])
    assert delta(model, equal) == Delta()
    (only,) = pieces(Delta(), 7)
    assert (only.last, only.delta) == (True, Delta())
    assert applied(model, Delta()) == model


def test_what_can_be_none_may_become_none() -> None:
    before = msgspec.structs.replace(
        build.model(default_route=build.route()),
        route_configurations=(RouteConfiguration(default_route=build.route(), default_certificate="shop/tls"),),
    )
    after = build.model()
    change = msgspec.msgpack.decode(msgspec.msgpack.encode(delta(before, after)), type=Delta)
    assert change.route_configurations == (RouteConfiguration(),)
    assert applied(before, change) == after


def test_a_change_of_endpoints_names_that_backend_only_and_is_one_piece() -> None:
    pay = build.backend("shop/pay:80", build.endpoints("ab"))
    before = build.model(build.backend(of=build.endpoints("a")), pay, hosts=[build.host()])
    changed = build.backend(of=build.endpoints("ab"))
    change = delta(before, build.model(changed, pay, hosts=[build.host()]))
    assert change == Delta(backends=(changed,))
    assert len(list(pieces(change, 2))) == 1


@examples(50)
@given(*[st.sets(st.integers(0, 39)) for _ in range(3)])
def test_changes_among_many_are_put_in_their_places(numbers: set[int], changed: set[int], gone: set[int]) -> None:
    parts = {number: build.backend(f"shop/cart{number:02}:80") for number in numbers}
    before = build.model(*(part for _, part in sorted(parts.items())))
    parts |= {number: build.backend(f"shop/cart{number:02}:80", build.endpoints("a")) for number in changed}
    after = build.model(*(part for number, part in sorted(parts.items()) if number not in gone))
    assert applied(before, delta(before, after)) == after


def test_a_large_model_goes_in_small_pieces() -> None:
    backends = [build.backend(f"shop/cart{number}:80", build.endpoints("aabb")) for number in range(1000)]
    hosts = [build.host(f"{number}.test", build.route()) for number in range(1000)]
    certificates = tuple(certificate(f"shop/tls{number:03}") for number in range(200))
    model = msgspec.structs.replace(build.model(*backends, hosts=hosts), certificates=certificates)
    parts = list(pieces(delta(EMPTY, model), 1))
    assert max(len(part.delta.hosts) for part in parts) <= 100
    assert max(len(part.delta.backends) for part in parts) <= 40
    assert max(len(part.delta.certificates) for part in parts) <= 10
    assert len(parts) <= 60
    assert applied(EMPTY, joined(part.delta for part in parts)) == model


def test_a_large_backend_is_cut_and_whole_again_at_the_end() -> None:
    large = build.backend(of=[build.endpoint(f"10.0.{number // 256}.{number % 256}") for number in range(3000)])
    small = build.backend("shop/pay:80", build.endpoints("a"))
    change = delta(EMPTY, build.model(large, small))
    parts = list(pieces(change, 1))
    assert max(len(backend.endpoints) for part in parts for backend in part.delta.backends) == 200
    assert joined(part.delta for part in parts) == change


def test_a_large_host_is_cut_and_whole_again_at_the_end() -> None:
    routes = [build.route(f"/{number:04}" + "x" * 1000) for number in range(300)]
    change = delta(EMPTY, build.model(hosts=[build.host("a.test", *routes), build.host("b.test", build.route())]))
    parts = list(pieces(change, 1))
    assert max(len(msgspec.msgpack.encode(part)) for part in parts) < 100_000
    assert joined(part.delta for part in parts) == change


def test_authorities_and_client_certificates_go_in_pieces_of_their_own() -> None:
    authorities = tuple(Authority(f"shop/ca{number}", b"x" * 200_000) for number in range(3))
    shown = tuple(ClientCertificate(f"shop/ca{number}", b"c" * 200_000, b"key") for number in range(3))
    model = msgspec.structs.replace(trusting(*authorities), client_certificates=shown)
    encoded = [msgspec.msgpack.encode(piece) for piece in pieces(delta(EMPTY, model), 1)]
    assert max(map(len, encoded)) < 210_000
    assert sum(map(len, encoded)) < 1_300_000
    received = joined(msgspec.msgpack.decode(piece, type=Piece).delta for piece in encoded)
    assert applied(EMPTY, received) == model


def test_renewed_roots_are_sent_without_the_backends_that_they_verify() -> None:
    renewed = Authority("shop/ca", b"new")
    change = delta(trusting(Authority("shop/ca", b"old")), trusting(renewed))
    assert change == Delta(authorities=(renewed,))


def test_an_authority_and_a_client_certificate_go_with_the_last_backend_that_names_them() -> None:
    shown = (ClientCertificate("shop/ca", b"chain", b"key"),)
    before = msgspec.structs.replace(trusting(Authority("shop/ca", b"roots")), client_certificates=shown)
    change = msgspec.msgpack.decode(msgspec.msgpack.encode(delta(before, EMPTY)), type=Delta)
    assert (change.gone["authorities"], change.gone["client_certificates"]) == (("shop/ca",), ("shop/ca",))
    assert applied(before, change) == EMPTY


def trusting(*authorities: Authority) -> RoutingModel:
    """Twenty backends for each authority that verifies their endpoints."""
    backends = (
        msgspec.structs.replace(build.backend(f"{way.way}#shop/cart{number}:80"), tls=way)
        for way in (EndpointTls(verify=True, authority=each.key) for each in authorities)
        for number in range(20)
    )
    return msgspec.structs.replace(build.model(*backends, zone=None), authorities=authorities)


def large_model(count: int) -> RoutingModel:
    return build.model(
        *(build.backend(f"shop/cart{number}:80", build.endpoints("aaaabbbb")) for number in range(count))
    )


def test_pieces_make_one_publication_at_the_last() -> None:
    gathering, model = PublicationAssembler(), large_model(300)
    made = [taken(gathering, piece) for piece in pieces(delta(EMPTY, model), 3)]
    assert len(made) > 1
    assert made[:-1] == [None] * (len(made) - 1)
    assert made[-1] == build.publication(3, model)
    after = build.model()
    assert [taken(gathering, piece) for piece in pieces(delta(model, after), 4, base=3)] == [
        build.publication(4, after)
    ]


def test_pieces_of_a_publication_that_is_never_finished_are_left_out_of_the_next() -> None:
    gathering, model = PublicationAssembler(), large_model(300)
    first, *_ = pieces(delta(EMPTY, model), 3)
    assert taken(gathering, first) is None
    after = build.model(build.backend(of=build.endpoints("a")))
    (only,) = pieces(delta(EMPTY, after), 4)
    assert taken(gathering, only) == build.publication(4, after)


def test_a_piece_that_goes_on_another_publication_is_refused_and_changes_nothing() -> None:
    gathering, model = PublicationAssembler(), build.model(build.backend())
    (piece,) = pieces(delta(EMPTY, model), 4, base=3)
    with pytest.raises(Unfitting, match="publication 3, and here is 0"):
        taken(gathering, piece)
    (piece,) = pieces(delta(EMPTY, model), 5)
    assert taken(gathering, piece) == build.publication(5, model)

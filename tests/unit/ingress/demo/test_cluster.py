"""The demo's manifests: what they say in each situation, and when a model shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ingress.admin.pages import model_document
from ingress.demo.cluster import (
    CALLS_SERVICE,
    SERVICE,
    ZONES,
    DemoEndpoint,
    Situation,
    is_shown,
    manifests,
    write_manifests,
)
from ingress.objects.converting import decode
from ingress.objects.kinds import Kind
from ingress.settings.context import TranslationContext
from ingress.sources.events import Replaced
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Translation, translate

ENDPOINTS = tuple(
    DemoEndpoint(
        zone=zone, node=f"{zone}-node-{number}", address="127.0.0.1", port=port + 10 * index + number, service=service
    )
    for service, port in ((SERVICE, 20_000), (CALLS_SERVICE, 30_000))
    for index, zone in enumerate(ZONES)
    for number in (1, 2)
)
SITUATIONS = st.builds(Situation, zone_aware=st.booleans(), zone_down=st.sampled_from((None, *ZONES)))


def translation_of(situation: Situation) -> Translation:
    """What the ingress makes of the manifests."""
    objects = [decode(each) for documents in manifests(ENDPOINTS, situation).values() for each in documents]
    inventory = Inventory()
    for kind in Kind:
        inventory.apply(Replaced(kind, tuple(each for each in objects if each is not None and each.kind is kind)))
    return translate(inventory, TranslationContext(zone="zone-a", allow_local_endpoints=True))


def shown_model(situation: Situation) -> dict[str, Any]:
    return model_document(translation_of(situation).model)


@given(SITUATIONS)
def test_the_manifests_give_no_cause_for_findings(situation: Situation) -> None:
    assert translation_of(situation).findings == ()


@given(SITUATIONS, SITUATIONS)
def test_a_model_shows_the_situation_it_was_made_from_and_no_other(made: Situation, asked: Situation) -> None:
    assert is_shown(shown_model(made), ENDPOINTS, asked) == (made == asked)


def test_every_endpoint_carries_its_zone_and_node_into_the_model() -> None:
    backends = translation_of(Situation()).model.backends

    assert {
        (backend.service, each.address, each.port, each.zone, each.node)
        for backend in backends
        for each in backend.endpoints
    } == {(each.service, each.address, each.port, each.zone, each.node) for each in ENDPOINTS}


def test_only_the_endpoints_of_calls_are_spoken_to_in_http2() -> None:
    backends = translation_of(Situation()).model.backends

    assert {backend.service: backend.http2 for backend in backends} == {SERVICE: False, CALLS_SERVICE: True}


@pytest.mark.parametrize("service", [SERVICE, CALLS_SERVICE])
def test_a_model_without_one_of_the_services_shows_nothing(service: str) -> None:
    model = shown_model(Situation())
    model["backends"] = [each for each in model["backends"] if service not in each["key"]]

    assert not is_shown(model, ENDPOINTS, Situation())


@pytest.mark.parametrize("model", [{}, {"backends": []}], ids=["no model yet", "no backend yet"])
def test_an_empty_model_shows_nothing(model: dict[str, Any]) -> None:
    assert not is_shown(model, ENDPOINTS, Situation())


def test_an_answer_names_service_zone_and_endpoint() -> None:
    answer = msgspec.json.decode(ENDPOINTS[0].answer())

    assert answer == {"service": "shop", "zone": "zone-a", "endpoint": ENDPOINTS[0].label}


def test_answers_tell_endpoints_apart() -> None:
    assert len({endpoint.answer() for endpoint in ENDPOINTS}) == len(ENDPOINTS)


def test_the_folder_holds_what_was_written_and_no_leftovers(tmp_path: Path) -> None:
    files = manifests(ENDPOINTS, Situation())

    write_manifests(tmp_path, files)

    assert {place.name for place in tmp_path.iterdir()} == set(files)
    for name, documents in files.items():
        assert list(yaml.safe_load_all((tmp_path / name).read_text())) == documents


def test_only_files_that_change_are_written_again(tmp_path: Path) -> None:
    write_manifests(tmp_path, manifests(ENDPOINTS, Situation()))
    before = {place.name: place.stat().st_ino for place in tmp_path.iterdir()}

    write_manifests(tmp_path, manifests(ENDPOINTS, Situation(zone_down="zone-b")))

    after = {place.name: place.stat().st_ino for place in tmp_path.iterdir()}
    assert {name for name in after if after[name] != before[name]} == {"endpoints-zone-b.yaml"}

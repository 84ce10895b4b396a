"""Which definitions of Gateway API there are, as one of them says."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.objects.definitions import DEFINITION, Definitions, definitions_in, definitions_of

SAID = {"gateway.networking.k8s.io/bundle-version": "v1.6.1", "gateway.networking.k8s.io/channel": "standard"}


def test_annotations_say_version_and_channel() -> None:
    assert definitions_of(SAID) == Definitions("v1.6.1", "standard")
    assert definitions_of({}) == Definitions()


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({"kind": "CustomResourceDefinition", "metadata": {"name": DEFINITION, "annotations": SAID}}, "v1.6.1"),
        ({"kind": "CustomResourceDefinition", "metadata": {"name": DEFINITION, "annotations": None}}, ""),
        ({"kind": "CustomResourceDefinition", "metadata": {"name": "others.example.com", "annotations": SAID}}, None),
        ({"kind": "CustomResourceDefinition", "metadata": {"name": DEFINITION, "annotations": ["odd"]}}, None),
        ({"kind": "CustomResourceDefinition", "metadata": "odd"}, None),
        ({"kind": "ConfigMap", "metadata": {"name": DEFINITION, "annotations": SAID}}, None),
    ],
)
def test_only_the_definition_of_gateway_classes_says_it(document: dict[str, Any], found: str | None) -> None:
    said = definitions_in(document)
    assert (said.version if said is not None else None) == found

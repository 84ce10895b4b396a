"""What every object has."""

from __future__ import annotations

import pytest

from ingress.objects.converting import ObjectError, decode
from ingress.objects.metadata import CLUSTER_WIDE, OPTIONAL_KINDS, Kind


def test_a_generation_is_read_and_bounded() -> None:
    found = decode({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "generation": 7}})
    assert found is not None
    assert found.metadata.generation == 7
    with pytest.raises(ObjectError):
        decode({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "generation": 2**70}})


def test_what_ingress_needs_is_not_optional() -> None:
    assert Kind.INGRESS not in OPTIONAL_KINDS
    assert {Kind.NAMESPACE, Kind.GATEWAY_CLASS} == OPTIONAL_KINDS & CLUSTER_WIDE

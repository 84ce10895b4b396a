"""What every object has."""

from __future__ import annotations

import pytest

from ingress.objects.converting import ObjectError, decode


def test_a_generation_is_read_and_bounded() -> None:
    found = decode({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "generation": 7}})
    assert found is not None
    assert found.metadata.generation == 7
    with pytest.raises(ObjectError):
        decode({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "generation": 2**70}})

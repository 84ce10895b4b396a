"""A copy of a request is told of, and that nobody waits for it."""

from __future__ import annotations

import msgspec

from balancer.explain.mirroring import mirror_steps
from balancer.model.mirroring import Mirroring
from tests import builders

RULE = Mirroring("https://mirror.test$request_uri", "shadow.test")


def test_a_route_without_a_mirror_has_nothing_to_tell() -> None:
    assert mirror_steps(builders.route()) == []


def test_a_copy_is_told_of_with_its_target_and_host() -> None:
    (step,) = mirror_steps(msgspec.structs.replace(builders.route(), mirroring=RULE))
    assert "goes to https://mirror.test$request_uri as shadow.test" in step
    without = msgspec.structs.replace(RULE, with_body=False)
    (step,) = mirror_steps(msgspec.structs.replace(builders.route(), mirroring=without))
    assert "without its body" in step

"""Hashes that lead to a subset of the endpoints."""

from __future__ import annotations

import pytest

from tests.unit.balancer.picking.test_sessions import eject, hashing, must, picked, runtime_of, session


@pytest.mark.parametrize("subset", [2, 3, 6, 20])
def test_a_hash_leads_to_a_subset_that_is_the_same_everywhere_and_every_endpoint_of_it_serves(subset: int) -> None:
    branch, here, there = hashing(subset=subset), runtime_of(zone="zone-a"), runtime_of(zone="zone-c")
    for target in ("/?x=1", "/?x=2"):
        labels = [
            {
                must(session(branch, runtime, target=target, seed=seed).pick()).member.label
                for runtime in (here, there)
                for seed in seeds
            }
            for seeds in (range(100), range(100, 200))
        ]
        assert labels[0] == labels[1]
        assert len(labels[0]) == min(subset, 6)
        assert picked(hashing(), here, target=target).member.label in labels[0]


def test_an_unwell_endpoint_of_a_subset_is_replaced_by_the_next_of_the_circle() -> None:
    branch, runtime = hashing(subset=3), runtime_of()

    def subset() -> list[str]:
        return [pick.member.label for pick in session(branch, runtime, target="/?x=1").hashed(0.0)]

    before = subset()
    eject(runtime, runtime.members[before[1]])
    assert len(before) == 3
    assert subset()[:2] == [before[0], before[2]]
    assert subset()[2] not in before

"""The rules of the lease, step by step: each candidate acts on what it saw and on its own clock."""

from __future__ import annotations

import msgspec
import pytest

from ingress.writing.electing import Election, ElectorTimes, Read, Step, Wait, Write
from ingress.writing.lease import Lease, LeaseSpec, micro_time

TIMES = ElectorTimes()
WALL = 1795240800.0


def candidate(identity: str = "me", times: ElectorTimes = TIMES) -> Election:
    return Election("leader", identity, times=times)


def held_by(holder: str, version: str = "1", *, seconds: int | None = 30, transitions: int = 3) -> Lease:
    spec = LeaseSpec(
        holder_identity=holder,
        lease_duration_seconds=seconds,
        acquire_time="then",
        renew_time="then",
        lease_transitions=transitions,
    )
    return Lease(version, b'{"name":"leader"}', spec)


def step(election: Election, now: float, chance: float = 0.0) -> Step:
    return election.step(now, wall_seconds=WALL, chance=chance)


def claim(election: Election, now: float) -> Lease:
    made = step(election, now)
    assert isinstance(made, Write)
    return made.lease


def stored(lease: Lease, version: str) -> Lease:
    return msgspec.structs.replace(lease, version=version)


def leader(now: float = 0.0) -> Election:
    """A candidate that leads since `now` with version 1 of the Lease."""
    election = candidate()
    assert isinstance(step(election, now), Read)
    election.saw(None, now)
    election.wrote(stored(claim(election, now), "1"), started_at=now)
    return election


def test_it_reads_before_anything_else_and_leads_nobody_yet() -> None:
    election = candidate()
    assert step(election, 0.0) == Read(TIMES.attempt_seconds)
    assert not election.is_leading(0.0)


def test_a_lease_that_is_not_there_is_created_with_all_its_fields() -> None:
    election = candidate()
    election.saw(None, 0.0)
    lease = claim(election, 0.0)
    now = micro_time(WALL)
    assert lease.version == ""
    assert lease.spec == LeaseSpec(
        holder_identity="me", lease_duration_seconds=30, acquire_time=now, renew_time=now, lease_transitions=0
    )


def test_a_claim_does_not_lead_before_it_is_stored() -> None:
    election = candidate()
    election.saw(None, 0.0)
    claim(election, 0.0)
    assert not election.is_leading(0.0)


def test_leading_ends_by_the_clock_alone_counted_from_the_start_of_the_write() -> None:
    election = leader(100.0)
    assert election.is_leading(100.0 + 14.9)
    assert not election.is_leading(100.0 + 15.0)


def test_a_write_that_took_longer_than_the_deadline_does_not_lead() -> None:
    election = candidate()
    election.saw(None, 0.0)
    election.wrote(stored(claim(election, 0.0), "1"), started_at=0.0)
    assert not election.is_leading(16.0)


def test_a_leader_renews_each_retry_without_reading() -> None:
    election = leader(0.0)
    assert step(election, 1.0) == Wait(7.5)
    renewed = claim(election, 7.5)
    assert (renewed.version, renewed.spec.lease_transitions) == ("1", 0)
    election.wrote(stored(renewed, "2"), started_at=7.5)
    assert election.is_leading(22.4)
    assert step(election, 8.0) == Wait(15.0)


def test_a_foreign_lease_is_waited_for_on_the_local_clock_whatever_its_timestamps_say() -> None:
    election = candidate()
    election.saw(held_by("other"), 100.0)
    assert step(election, 100.0) == Wait(107.5)
    for now in (107.5, 115.0, 122.5):
        assert isinstance(step(election, now), Read)
        election.saw(held_by("other"), now)
        assert isinstance(step(election, now), Wait)
    assert isinstance(step(election, 130.0), Read)
    election.saw(held_by("other"), 130.0)
    taken = claim(election, 130.0)
    assert (taken.version, taken.spec.holder_identity, taken.spec.lease_transitions) == ("1", "me", 4)
    assert taken.spec.acquire_time == micro_time(WALL)


def test_a_lease_that_runs_out_before_the_next_retry_is_looked_at_when_it_does() -> None:
    election = candidate()
    election.saw(held_by("other"), 100.0)
    assert isinstance(step(election, 127.0), Wait)
    assert step(election, 127.0) == Wait(130.0)


def test_candidates_that_wait_for_the_same_lease_do_not_come_at_the_same_moment() -> None:
    waits = set()
    for chance in (0.0, 0.5, 0.9):
        election = candidate()
        election.saw(held_by("other"), 100.0)
        waits.add(step(election, 127.0, chance))
    assert waits == {Wait(130.0), Wait(130.75), Wait(131.35)}


def test_each_renewal_seen_starts_the_wait_anew() -> None:
    election = candidate()
    election.saw(held_by("other", "1"), 0.0)
    election.saw(held_by("other", "2"), 29.0)
    assert isinstance(step(election, 31.0), Wait)


def test_the_holders_own_duration_counts() -> None:
    election = candidate()
    election.saw(held_by("other", seconds=60), 0.0)
    assert isinstance(step(election, 59.0), Wait)
    without = candidate()
    without.saw(held_by("other", seconds=None), 0.0)
    assert isinstance(step(without, 29.0), Wait)
    assert isinstance(step(without, 40.0), Read)


def test_a_lease_that_was_given_up_is_taken_at_once() -> None:
    election = candidate()
    election.saw(held_by("other", "1"), 0.0)
    election.saw(held_by("", "2"), 1.0)
    assert claim(election, 1.0).spec.lease_transitions == 4


def test_a_deleted_lease_still_binds_who_saw_it_held() -> None:
    election = candidate()
    election.saw(held_by("other"), 0.0)
    election.saw(None, 10.0)
    assert isinstance(step(election, 10.0), Wait)
    assert isinstance(step(election, 30.0), Read)
    election.saw(None, 30.0)
    assert claim(election, 30.0).version == ""


def test_a_write_of_unknown_outcome_is_read_before_another_is_made() -> None:
    election = leader(0.0)
    claim(election, 7.5)
    assert isinstance(step(election, 7.5), Read)  # cancelled: nobody said what came of it
    election.failed(9.0, chance=0.0)
    assert step(election, 9.0) == Wait(10.9)
    assert isinstance(step(election, 10.9), Read)


def test_an_own_lease_that_was_renewed_without_an_answer_is_taken_again_at_once() -> None:
    election = leader(0.0)
    claim(election, 7.5)
    election.failed(20.0, chance=0.0)
    assert not election.is_leading(20.0)
    election.saw(held_by("me", "2"), 28.0)
    renewed = claim(election, 28.0)
    assert (renewed.version, renewed.spec.lease_transitions, renewed.spec.acquire_time) == ("2", 3, "then")


def test_a_failing_leader_tries_several_times_before_its_deadline_and_never_past_it() -> None:
    election = leader(0.0)
    now, tries = 0.0, 0
    while election.is_leading(now):
        made = step(election, now)
        if isinstance(made, Wait):
            assert made.until <= 15.0
            now = made.until
        else:
            tries += 1
            assert now + made.limit_seconds <= 15.0
            election.failed(now, chance=0.0)
    assert now == 15.0
    assert tries == 4


def test_a_leader_that_sees_another_holder_stops_at_once() -> None:
    election = leader(0.0)
    claim(election, 7.5)
    election.failed(7.6, chance=0.0)
    election.saw(held_by("other", "9"), 9.5)
    assert not election.is_leading(9.5)
    assert isinstance(step(election, 9.6), Wait)


def test_a_lease_that_was_deleted_under_a_leader_is_created_again() -> None:
    election = leader(0.0)
    claim(election, 7.5)
    election.failed(7.5, chance=0.0)
    election.saw(None, 9.4)
    assert election.is_leading(9.4)
    assert claim(election, 9.4).version == ""


def test_failures_of_a_candidate_wait_for_the_retry_with_jitter() -> None:
    election = candidate()
    election.failed(0.0, chance=0.5)
    assert step(election, 0.0) == Wait(6.75)


def test_giving_up_ends_leading_before_anything_is_written() -> None:
    election = leader(0.0)
    made = election.release(wall_seconds=WALL)
    assert not election.is_leading(0.0)
    assert isinstance(made, Write)
    assert made.lease.version == "1"
    assert made.lease.spec.holder_identity == ""
    assert made.lease.spec.lease_duration_seconds == 1
    assert made.lease.spec.renew_time == micro_time(WALL)


def test_giving_up_in_doubt_reads_first() -> None:
    election = leader(0.0)
    claim(election, 7.5)
    assert isinstance(election.release(wall_seconds=WALL), Read)
    election.saw(held_by("me", "2"), 8.0)
    made = election.release(wall_seconds=WALL)
    assert isinstance(made, Write)
    assert made.lease.version == "2"


@pytest.mark.parametrize("lease", [None, held_by("other"), held_by("")])
def test_there_is_nothing_to_give_up_of_a_lease_that_is_not_ours(lease: Lease | None) -> None:
    election = candidate()
    election.saw(lease, 0.0)
    assert election.release(wall_seconds=WALL) is None


def test_scaled_times_keep_the_rules_and_a_whole_second_of_lease() -> None:
    scaled = TIMES.scaled(0.01)
    assert scaled.retry_seconds == pytest.approx(0.075)
    assert scaled.jitter == TIMES.jitter
    election = candidate(times=scaled)
    election.saw(None, 0.0)
    assert claim(election, 0.0).spec.lease_duration_seconds == 1

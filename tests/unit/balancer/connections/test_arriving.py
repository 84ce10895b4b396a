"""Who has an arriving connection counts for a place and for a bound, until it has the connection no more."""

from __future__ import annotations

from balancer.connections.arriving import ArrivingConnections
from balancer.connections.handshaking import UnfinishedHandshakes
from balancer.connections.places import ClientPlaces


class Member:
    def __init__(self) -> None:
        self.is_ended = False

    def cancel(self) -> None:
        self.is_ended = True


def test_members_have_places_until_they_leave_and_end_together() -> None:
    places = ClientPlaces()
    arriving = ArrivingConnections(places, lambda _: None)
    first, second = Member(), Member()
    arriving.enter(first, b"a")
    arriving.enter(second, b"b")
    arriving.leave(first)
    arriving.leave(first)
    assert (arriving.members, len(places)) == ({second}, 1)
    arriving.end()
    assert (first.is_ended, second.is_ended) == (False, True)


def test_for_a_new_one_beyond_the_bound_another_of_its_client_ends() -> None:
    notes: list[str] = []
    arriving = ArrivingConnections(ClientPlaces(), notes.append)
    bound = UnfinishedHandshakes(2 * 64 * 1024)
    members = [Member() for _ in range(4)]
    for number, member in enumerate(members[:3]):
        arriving.enter(member, b"a" if number < 2 else b"b", bound)
    assert [each.is_ended for each in members] == [True, False, False, False]
    assert notes == ["handshake_limit"]
    arriving.leave(members[1], bound)
    arriving.enter(members[3], b"b", bound)
    assert [each.is_ended for each in members] == [True, False, False, False]

"""Who has an arriving connection counts for a place and for a bound, until it has the connection no more.

Which connection ends for a new one: `test_places.py`.
"""

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


def test_a_place_is_given_up_for_who_has_fewer_and_then_handed_over() -> None:
    notes: list[str] = []
    places = ClientPlaces()
    arriving = ArrivingConnections(places, notes.append)
    members = [Member() for _ in range(3)]
    for member in members[:2]:
        assert not arriving.is_full(2)
        arriving.enter(member, b"a")
    assert arriving.is_full(2)
    assert not arriving.makes_room(b"a", 10.0)
    assert arriving.makes_room(b"b", 10.0)
    assert ([each.is_ended for each in members], notes) == ([True, False, False], ["connection_limit"] * 2)
    assert not arriving.is_full(2)


def test_a_member_whose_client_turns_out_to_be_another_one_moves_or_has_no_place() -> None:
    places = ClientPlaces()
    arriving = ArrivingConnections(places, lambda _: None)
    proxy, others = Member(), [Member() for _ in range(2)]
    for member in (proxy, others[0]):
        arriving.enter(member, b"proxy")
    assert arriving.moves(proxy, b"a", 2, 10.0)
    assert not others[0].is_ended
    arriving.enter(others[1], b"a")
    assert not arriving.moves(others[0], b"a", 2, 10.0)
    assert len(places) == 2

"""Any order of the same events gives the same model (K18): late, twice, in part, from old lists or new ones."""

from __future__ import annotations

import operator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingress.objects.kinds import Kind
from ingress.sources.events import Replaced
from ingress.sources.kubernetes.decoding import Unreadable
from ingress.sources.kubernetes.gathering import Gathering
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import Condition, ScopeReplaced, ScopeUnreadable, ScopeUpserted
from tests.properties import examples
from tests.unit.ingress.cluster import service, tls_secret
from tests.unit.ingress.event_order import Follower, Reader, content_of, history_of, subjects

_NUMBER = st.integers(0, 255)
_ACTIONS = st.one_of(st.just(0), _NUMBER)
# Most objects exist at first, so that most histories lead to routes, endpoints and certificates.
_FIRST = st.permutations(range(len(subjects()))).flatmap(
    lambda order: st.tuples(*(st.tuples(st.just(which), _ACTIONS) for which in order)).map(list)
)
# Every second step is about an Ingress: those decide what else is wanted.
_THEN = st.lists(st.tuples(st.one_of(st.integers(0, 2), _NUMBER), _NUMBER), min_size=8, max_size=30)
_SCRIPTS = st.builds(operator.add, _FIRST, _THEN)
_TELLING = st.lists(st.tuples(_NUMBER, _NUMBER, _NUMBER), min_size=20, max_size=60)
_NAMESPACES = st.sampled_from([(), ("shop", "away")])
_BREADTHS = st.sampled_from(["cluster", "namespace", "name"])
_CONDITIONS = tuple(Condition)

Script = list[tuple[int, int]]
Telling = list[tuple[int, int, int]]


def tell(follower: Follower, step: tuple[int, int, int], *, length: int) -> None:
    """One thing that an API server or a controller may do next; any three numbers say what."""
    which, what, amount = step
    reader = follower.readers[which % len(follower.readers)]
    match what % 8:
        case 0 | 1 | 2 as way:
            read(reader, way, amount, length=length)
        case 3:
            follower.turn(reader, _CONDITIONS[amount % len(_CONDITIONS)])
        case 4:
            follower.drain(amount % 6)
        case 5 if amount % 2:
            follower.ask()
        case 5:
            follower.answer()
        case way:
            # Without all of the first lists there is nothing to translate.
            for each in follower.readers:
                if each.position is None:
                    each.list(amount % (length // 2 + 1))
                elif way == 7:
                    each.watch(back=0, on=amount % 8)
            follower.drain(amount)
            follower.translate()


def read(reader: Reader, way: int, amount: int, *, length: int) -> None:
    """A reader gets the next events, the last ones and the next, old ones only, or a list of any age."""
    if reader.position is None or (way == 2 and amount % 2):
        reader.list(amount % (length + 1))
    elif way == 2:
        reader.repeat(back=amount % 16)
    else:
        reader.watch(back=amount % 16 * way, on=amount % 8)


def check(script: Script, telling: Telling, *, namespaces: tuple[str, ...], breadth: str) -> None:
    history = history_of(script)
    follower = Follower(history, namespaces=namespaces, breadth=breadth)
    for step in telling:
        tell(follower, step, length=len(history))
    reached = follower.finish()
    late = Follower(history, namespaces=namespaces, breadth=breadth)
    expected = late.finish()
    assert content_of(follower.inventory) == content_of(late.inventory)
    assert reached.model == expected.model
    assert reached.findings == expected.findings
    assert reached.wanted == expected.wanted


@pytest.mark.large
@examples(300)
@given(_SCRIPTS, _TELLING, _NAMESPACES, _BREADTHS)
def test_the_end_is_that_of_a_fresh_list(
    script: Script, telling: Telling, namespaces: tuple[str, ...], breadth: str
) -> None:
    check(script, telling, namespaces=namespaces, breadth=breadth)


def test_what_is_gone_before_every_namespace_has_answered_is_never_said() -> None:
    shop, away = Scope(Kind.SERVICE, "shop"), Scope(Kind.SERVICE, "away")
    gathering = Gathering([shop, away])
    assert not [*gathering.apply(ScopeReplaced(shop, (service(), service("pay")), (), "10"))]
    assert not [*gathering.apply(ScopeReplaced(shop, (service(),), (), "20"))]
    assert [*gathering.apply(ScopeReplaced(away, (), (), "20"))] == [Replaced(Kind.SERVICE, (service(),))]


def test_an_unwanted_secret_that_can_be_read_again_is_no_finding_any_more() -> None:
    everywhere, secret = Scope(Kind.SECRET), tls_secret("cert", b"", b"")
    gathering = Gathering([everywhere])
    list(gathering.apply(ScopeUnreadable(everywhere, Unreadable("shop", "cert", "is malformed"))))
    assert gathering.findings().findings
    assert not [*gathering.apply(ScopeUpserted(everywhere, secret))]
    assert not gathering.findings().findings


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_SCRIPTS, _TELLING, _NAMESPACES, _BREADTHS)
def test_the_end_is_that_of_a_fresh_list_ten_thousand_times(
    script: Script, telling: Telling, namespaces: tuple[str, ...], breadth: str
) -> None:
    check(script, telling, namespaces=namespaces, breadth=breadth)

"""Versions of HTTP keep what they made of the same head beside each other."""

from __future__ import annotations

from balancer.http.memos import Memo, recalled
from balancer.http.messages import Repeated


class One(Memo): ...


class Other(Memo): ...


class Third(Memo): ...


def test_each_kind_of_memo_is_made_once_and_the_last_one_stands_first() -> None:
    head = Repeated(())
    one, other, third = recalled(head, One), recalled(head, Other), recalled(head, Third)
    assert head.memo is third
    for kind, memo in ((One, one), (Other, other), (Third, third), (Third, third), (Other, other), (One, one)):
        assert recalled(head, kind) is memo
        assert head.memo is memo

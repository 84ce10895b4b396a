"""An account begins without facts, and a request without an id gets one of its own."""

from __future__ import annotations

import re

from balancer.proxy.account import Account, new_request_id


def test_ids_have_the_form_of_nginx_and_none_comes_twice() -> None:
    ids = [new_request_id() for _ in range(1000)]
    assert all(re.fullmatch(rb"[0-9a-f]{32}", each) for each in ids)
    assert len(set(ids)) == len(ids)


def test_another_attempt_begins_with_no_facts_of_the_last_one() -> None:
    account = Account("192.0.2.1", None, 1.0)
    account.status, account.endpoint_status, account.grpc_status = 502, 502, 14
    account.request_bytes, account.response_bytes, account.tried = 3, 5, ("10.0.0.1:80",)
    account.forget_attempt()
    facts: list[int | None] = [account.status, account.request_bytes, account.response_bytes]
    facts += [account.endpoint_status, account.grpc_status]
    assert facts == [0, 0, 0, None, None]
    assert account.tried == ("10.0.0.1:80",)

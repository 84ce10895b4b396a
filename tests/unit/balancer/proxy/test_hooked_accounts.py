"""The account of a request that hooks are asked about."""

from __future__ import annotations

from balancer.proxy.account import Account
from balancer.proxy.hooked_accounts import HookedAccount
from balancer.proxy.lines import record_of
from tests.questions import question_of


def test_an_account_goes_on_with_what_is_known() -> None:
    account = Account("192.0.2.1", question_of("http://shop.test/").request, 7.0)
    account.request_id = b"r1"
    hooked = HookedAccount(account)
    assert (hooked.client, hooked.request, hooked.started) == (account.client, account.request, 7.0)
    assert (hooked.request_id, hooked.destination, hooked.hook) == (b"r1", None, "")


def test_the_line_of_a_request_has_the_hook_that_answered() -> None:
    account = HookedAccount(Account("192.0.2.1", question_of("http://shop.test/").request, 7.0))
    assert record_of(account, "zone-a", 0.1).hook is None
    account.hook = "tenant"
    assert record_of(account, "zone-a", 0.1).hook == "tenant"

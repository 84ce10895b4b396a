"""The account of a request that hooks are asked about: it also has the hook that answered."""

from __future__ import annotations

from balancer.proxy.account import Account


class HookedAccount(Account):
    """`hook` is the name of the hook that answered, empty if none did."""

    __slots__ = ("hook",)

    def __init__(self, account: Account) -> None:
        """`account` is that of the request so far, which takes its place from now on."""
        super().__init__(account.client, account.request, account.started)
        self.request_id = account.request_id
        self.destination = account.destination
        self.hook = ""

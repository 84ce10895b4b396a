"""A request keeps the view with which it began, and sees the newest one when it asks."""

from __future__ import annotations

from balancer.http.origin import Origin
from balancer.http.streams import RequestStream
from balancer.model.entry_points import HTTP
from balancer.proxy.context import RequestContext
from tests.messages import request_head
from tests.unit.balancer.proxy.standing import shop, standing


class Nobody:
    """Counts nothing."""

    def waits(self) -> None: ...
    def waited(self) -> None: ...


async def test_a_request_keeps_the_view_with_which_it_began() -> None:
    async with standing(shop([])) as proxy:
        stream, request, began = RequestStream(), request_head(), proxy.live.view
        stream.origin = Origin(peer="192.0.2.1", entry_point=HTTP)
        context = RequestContext()
        context.open(proxy.proxy, Nobody(), stream, request)
        proxy.publish(shop([]))
        assert context.view is began
        assert context.newest_view() is proxy.live.view is not began
        assert (context.account.request, context.account.client) == (request, "192.0.2.1")
        assert context.origin is stream.origin

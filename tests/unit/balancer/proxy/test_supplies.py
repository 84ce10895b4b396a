"""What requests use together: an alarm that one gave back serves the next."""

from __future__ import annotations

from tests.fakes.endpoints import ScriptedEndpoint, answering
from tests.unit.balancer.proxy.standing import GET, OK, shop, standing


async def test_the_alarm_of_a_request_that_is_over_serves_the_next_one() -> None:
    async with (
        ScriptedEndpoint(answering(OK)) as endpoint,
        standing(shop([endpoint])) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(GET)).status == 200
        await proxy.idle()
        (alarm,) = proxy.proxy.alarms
        assert proxy.proxy.take_alarm() is alarm
        assert proxy.proxy.take_alarm() is not alarm

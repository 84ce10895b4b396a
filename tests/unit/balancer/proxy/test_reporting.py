"""What attempts leave in metrics, log and account."""

from __future__ import annotations

from balancer.metrics.definitions import EJECTIONS, RETRIES
from tests.fakes.endpoints import ScriptedEndpoint, answering
from tests.unit.balancer.proxy.standing import GET, OK, refusing, shop, standing


async def test_failed_attempts_are_counted_and_stand_in_the_line_and_their_endpoint_is_left_out() -> None:
    with refusing() as refused:
        async with (
            ScriptedEndpoint(answering(OK), address="127.0.0.2") as endpoint,
            standing(shop([refused, endpoint])) as proxy,
        ):
            async with proxy.client() as client:
                for _ in range(20):
                    assert (await client.ask(GET)).status == 200
                await proxy.idle()
            failures = proxy.metric(RETRIES)["shop", "cart", "connect_refused"]
            assert failures > 0
            assert proxy.metric(EJECTIONS) == {("shop", "cart"): 1}
            assert sum(len(line["endpoints"]) == 2 for line in proxy.log()) == failures

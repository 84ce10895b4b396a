"""What one replica says about itself on its admin port, from its first publication to its drain."""

from __future__ import annotations

import signal
from pathlib import Path

from balancer.runtime.build import build_told
from tests.integration.manifests import ingress, path, rule
from tests.integration.running import running
from tests.integration.shop import HOST, shop
from tests.integration.wire import get


async def test_a_replica_answers_for_itself_until_it_drains(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, {"zone-a": 1}) as place,
        running(place.place, "--zone", "zone-a", "--compat-metrics=nginx", grace="30") as zonal,
    ):
        assert (await get(zonal.http_port, HOST)).status == 200
        generation = await zonal.generation()
        assert (await zonal.model())["model"]["own_zone"]["zone"] == "zone-a"
        assert await zonal.findings() == []
        explained = (await zonal.admin(f"/debug/explain?url=http://{HOST}/")).json()
        assert (explained["service"], explained["reason"]) == ("shop/cart", "off")
        (build,) = (await zonal.metrics())["nginx_ingress_controller_build_info"].samples
        assert build.labels["controller_namespace"] == "zonal"
        overview = (await zonal.admin("/debug/overview?parts=zones")).json()
        assert (overview["replica"]["own_zone"], overview["replica"]["generation"]) == ("zone-a", generation)
        assert overview["replica"]["build"] == build_told()
        assert f" begins, data plane {build_told()}\n" in zonal.stderr

        place.folder.write("bad.yaml", ingress("bad", rule("bad.test", path("/", "nowhere"))))
        await zonal.reaches_generation(generation + 1, seconds=60)
        assert [each["reason"] for each in await zonal.findings()] == ["ServiceMissing"]

        zonal.tell(signal.SIGTERM)
        assert "draining" in (await zonal.is_unready()).body.decode()
        zonal.tell(signal.SIGTERM)  # cuts the grace short
        assert await zonal.has_ended() == 0

"""A whole process: what it says when it serves, and that everything it was told is carried out."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from tests.fakes.backends import EchoEndpoint
from tests.integration.manifests import config_map, endpoint_slice, ingress, path, rule, service
from tests.integration.running import running, started
from tests.integration.shop import HOST, shop
from tests.integration.wire import Connection, get


async def test_the_first_line_is_exact_and_comes_when_every_socket_accepts(tmp_path: Path) -> None:
    async with shop(tmp_path) as place, started(place.place, "--shutdown-grace-period", "0", anew=True) as zonal:
        await zonal.is_serving()
        ports = zonal.http_port, zonal.https_port, zonal.admin_port
        assert zonal.stdout == "zonal: serving http={} https={} admin={}\n".format(*ports)
        for port in ports:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
        await zonal.is_ready()
        await zonal.stop()


async def test_every_path_of_the_manifests_leads_to_its_service(tmp_path: Path) -> None:
    """The routing tables themselves are run elsewhere; here they go through a folder and a process of their own."""
    expected = {
        (HOST, "/item"): (200, "cart"),
        (HOST, "/blog"): (200, "blog"),
        (HOST, "/blog/2024?page=1"): (200, "blog"),
        (HOST, "/blogs"): (200, "cart"),
        (HOST, "/exact"): (200, "blog"),
        (HOST, "/exact/"): (200, "cart"),
        (HOST, "//blog"): (200, "blog"),
        (HOST, "/x/../blog"): (200, "blog"),
        (HOST, "/%62log"): (200, "blog"),
        (f"{HOST}:8080", "/blog"): (200, "blog"),
        ("a.wild.test", "/"): (200, "blog"),
        ("a.b.wild.test", "/"): (404, None),
        ("wild.test", "/"): (404, None),
        ("unknown.test", "/"): (404, None),
        (HOST, "/broken"): (503, None),
    }
    blog = EchoEndpoint("blog")
    await blog.start()
    async with shop(tmp_path, {"zone-a": 1}) as place:
        paths = path("/blog", "blog"), path("/exact", "blog", kind="Exact"), path("/broken", "nowhere")
        rules = rule(HOST, *paths), rule("*.wild.test", path("/", "blog"))
        place.folder.write("blog.json", service("blog"), endpoint_slice(blog), ingress("blog", *rules))
        async with running(place.place) as zonal:
            for (host, target), (status, name) in expected.items():
                response = await get(zonal.http_port, host, target)
                assert (response.status, host, target) == (status, host, target)
                if name is not None:
                    assert (response.json()["service"], response.json()["target"]) == (name, target)
    await blog.stop()


async def test_options_reach_the_translation(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place:
        annotated = {"kubernetes.io/ingress.class": "edge"}
        for number, namespace in enumerate(("shop", "other")):
            web = ingress("late", rule(f"{namespace}.late.test", path("/", "cart")), namespace=namespace)
            web["metadata"]["annotations"] = annotated
            del web["spec"]["ingressClassName"]
            place.folder.write(f"late-{number}.yaml", web)
        settings = config_map(generate_request_id="false", ssl_redirect="false")
        settings["metadata"] = {"namespace": "elsewhere", "name": "settings"}
        place.folder.write("elsewhere.yaml", settings)
        options = ("--default-backend-service", "shop/cart", "--zone", "zone-x", "--watch-namespace", "shop")
        environment = {"ZONAL_CONFIGMAP": "elsewhere/settings", "NODE_NAME": "node-1", "ZONAL_INGRESS_CLASS": "edge"}
        async with running(place.place, *options, environment=environment) as zonal:
            model = (await zonal.model())["model"]
            fallback = (await get(zonal.http_port, "unknown.test")).json()
    assert [host["name"] for host in model["hosts"]] == ["shop.late.test", HOST]
    assert model["own_zone"] == {"zone": "zone-x", "source": "flag", "node": "node-1", "labels": []}
    assert model["proxy"]["generate_request_id"] is False
    assert fallback["service"] == "cart"
    assert "x-request-id" not in {name.lower() for name, _ in fallback["headers"]}


async def test_without_allow_local_endpoints_loopback_is_no_endpoint(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, {"zone-a": 1}) as place,
        running(place.place, "--allow-local-endpoints=false") as zonal,
    ):
        assert (await get(zonal.http_port, HOST)).status == 503
        kinds = {finding["kind"] for finding in await zonal.findings()}
        assert kinds == {"EndpointSlice", "Service"}  # the address, and that nobody is left to answer


async def test_a_folder_that_vanishes_keeps_being_served(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place) as zonal:
        place.place.rename(tmp_path / "moved")
        async with asyncio.timeout(30):
            while not (findings := await zonal.findings()):
                pass
        assert findings[0]["reason"] == "FolderUnreadable"
        assert (await get(zonal.http_port, HOST)).status == 200


async def test_a_loopback_bind_address_is_the_only_one(tmp_path: Path) -> None:
    async with (
        shop(tmp_path, {"zone-a": 1}) as place,
        running(place.place, "--bind-address", "127.0.0.1") as zonal,
        await Connection.open(zonal.http_port) as connection,
    ):
        assert (await connection.get(HOST)).status == 200
        try:
            socket.create_connection(("::1", zonal.http_port), timeout=5).close()
        except OSError:
            return
        raise AssertionError("the port answers on another address")

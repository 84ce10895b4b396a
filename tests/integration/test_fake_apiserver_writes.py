"""How the test API server takes writes: shapes of Events, stale versions, patches, preconditions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.fakes.apiserver import ApiServer

MAPS = "/api/v1/namespaces/shop/configmaps"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses"
GATEWAYS = "/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/shop/leases"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"


class Writer:
    """A client that sends JSON and gives back status and body, as text where it is no JSON."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self._url = url
        self._session = session

    async def __call__(
        self, method: str, path: str, body: object = None, *, media: str = "application/json"
    ) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": media}
        async with self._session.request(method, self._url + path, data=data, headers=headers) as response:
            is_json = response.content_type == "application/json"
            return response.status, await (response.json() if is_json else response.text())


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest.fixture
async def write(server: ApiServer) -> AsyncIterator[Writer]:
    async with aiohttp.ClientSession() as session:
        yield Writer(server.url, session)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}, "data": data}


def service(*ports: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"ports": list(ports)},
    }


def gateway(spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "shop"}
    return {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": metadata, "spec": spec}


async def test_an_event_has_a_shape_for_each_group(write: Writer) -> None:
    regarding = {"kind": "ConfigMap", "namespace": "shop", "name": "one"}
    core = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "one.1"}, "involvedObject": regarding}
    status, created = await write("POST", "/api/v1/namespaces/shop/events", core | {"message": "well", "count": 2})
    assert (status, created["message"], created["count"]) == (201, "well", 2)
    _, event = await write("GET", "/apis/events.k8s.io/v1/namespaces/shop/events/one.1")
    assert (event["apiVersion"], event["regarding"], event["note"]) == ("events.k8s.io/v1", regarding, "well")
    _, listed = await write("GET", "/api/v1/events?fieldSelector=involvedObject.name%3Done")
    assert [item["involvedObject"] for item in listed["items"]] == [regarding]


async def test_an_event_without_its_required_fields_is_refused(write: Writer) -> None:
    event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "one.1"}, "type": "Normal"}
    status, refusal = await write("POST", "/apis/events.k8s.io/v1/namespaces/shop/events", event)
    assert status == 422
    fields = [cause["field"] for cause in refusal["details"]["causes"]]
    assert fields[:3] == ["eventTime", "reportingController", "reportingInstance"]


async def test_a_lease_is_created_by_an_update_but_not_updated_without_its_version(
    server: ApiServer, write: Writer
) -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"}, "spec": {}}
    assert (await write("PUT", f"{LEASES}/leader", lease))[0] == 201
    status, refusal = await write("PUT", f"{LEASES}/leader", lease)
    assert (status, refusal["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")
    stored = server.get("Lease", "shop", "leader")
    assert stored is not None
    assert (await write("PUT", f"{LEASES}/leader", stored | {"spec": {"holderIdentity": "me"}}))[0] == 200
    assert (await write("PUT", f"{LEASES}/leader", stored | {"spec": {"holderIdentity": "you"}}))[0] == 409


async def test_a_patch_that_names_a_stale_version_is_a_conflict(server: ApiServer, write: Writer) -> None:
    stale = server.put(config_map("one"))["metadata"]["resourceVersion"]
    server.put(config_map("one", a="b"))
    patch = {"metadata": {"resourceVersion": stale}, "data": {"a": "c"}}
    assert (await write("PATCH", f"{MAPS}/one", patch, media=MERGE))[0] == 409
    assert (await write("PATCH", f"{MAPS}/one", {"data": {"a": "c"}}, media=MERGE))[0] == 200


async def test_a_write_that_changes_nothing_is_no_event(server: ApiServer, write: Writer) -> None:
    version = server.put(config_map("one", a="b"))["metadata"]["resourceVersion"]
    _, body = await write("PATCH", f"{MAPS}/one", {"data": {"a": "b", "none": None}}, media=MERGE)
    assert body["metadata"]["resourceVersion"] == version == str(server.version)


async def test_spec_and_status_are_written_apart(server: ApiServer, write: Writer) -> None:
    spec: dict[str, Any] = {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}
    metadata = {"name": "one", "namespace": "shop"}
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}
    status = {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}}
    _, created = await write("POST", INGRESSES, ingress | {"status": status})
    assert created["status"] == {"loadBalancer": {}}, "a new object's status is empty whatever was sent"
    _, changed = await write("PUT", f"{INGRESSES}/one/status", ingress | {"status": status, "spec": {}})
    assert (changed["status"], changed["spec"], changed["metadata"]["generation"]) == (status, spec, 1)
    other = {"defaultBackend": {"service": {"name": "web", "port": {"number": 81}}}}
    _, changed = await write("PUT", f"{INGRESSES}/one", ingress | {"status": {}, "spec": other})
    assert (changed["status"], changed["spec"], changed["metadata"]["generation"]) == (status, other, 2)


async def test_a_strategic_patch_merges_lists_by_key_and_a_merge_patch_replaces_them(
    server: ApiServer, write: Writer
) -> None:
    server.put(service({"name": "a", "port": 1}, {"name": "b", "port": 2}))
    path = "/api/v1/namespaces/shop/services/web"
    ports = [{"port": 2, "name": "bb"}, {"port": 3, "name": "c"}, {"port": 1, "$patch": "delete"}]
    _, body = await write("PATCH", path, {"spec": {"ports": ports}}, media=STRATEGIC)
    assert [(port["name"], port["port"], port["targetPort"]) for port in body["spec"]["ports"]] == [
        ("bb", 2, 2),
        ("c", 3, 3),
    ]
    _, body = await write("PATCH", path, {"spec": {"ports": [{"port": 9}]}}, media=MERGE)
    assert [port["port"] for port in body["spec"]["ports"]] == [9]


@pytest.mark.parametrize(
    ("operations", "status", "data"),
    [
        ([{"op": "add", "path": "/data/b", "value": "2"}], 200, {"a": "1", "b": "2"}),
        ([{"op": "remove", "path": "/data/a"}], 200, {}),
        ([{"op": "move", "from": "/data/a", "path": "/data/b"}], 200, {"b": "1"}),
        ([{"op": "remove", "path": "/data/a"}, {"op": "test", "path": "/data", "value": ""}], 422, {"a": "1"}),
        ([{"op": "test", "path": "/data/a", "value": "other"}], 422, {"a": "1"}),
        ([{"op": "replace", "path": "/data/none", "value": "2"}], 422, {"a": "1"}),
    ],
)
async def test_a_json_patch_applies_whole_or_not_at_all(
    server: ApiServer, write: Writer, operations: list[dict[str, str]], status: int, data: dict[str, str]
) -> None:
    server.put(config_map("one", a="1"))
    assert (await write("PATCH", f"{MAPS}/one", operations, media=JSON_PATCH))[0] == status
    stored = server.get("ConfigMap", "shop", "one")
    assert stored is not None
    assert stored["data"] == data


async def test_names_are_made_up_on_request(write: Writer) -> None:
    bodies = [config_map("") | {"metadata": {"generateName": "one-"}} for _ in range(2)]
    names = {(await write("POST", MAPS, body))[1]["metadata"]["name"] for body in bodies}
    assert len(names) == 2
    assert all(name.startswith("one-") for name in names)


async def test_a_deletion_heeds_its_preconditions(server: ApiServer, write: Writer) -> None:
    uid = server.put(config_map("one"))["metadata"]["uid"]
    assert (await write("DELETE", f"{MAPS}/one", {"preconditions": {"uid": "another"}}))[0] == 409
    status, body = await write("DELETE", f"{MAPS}/one", {"preconditions": {"uid": uid}})
    assert (status, body["status"]) == (200, "Success")
    assert body["details"] == {"name": "one", "kind": "configmaps", "uid": uid}
    assert (await write("DELETE", f"{MAPS}/one"))[0] == 404


@pytest.mark.parametrize(
    ("request_line", "media", "status"),
    [
        ("POST /api/v1/configmaps", "application/json", 405),
        (f"DELETE {MAPS}", "application/json", 405),
        (f"POST {MAPS}", "application/vnd.kubernetes.protobuf", 415),
        (f"PATCH {MAPS}/one", "application/json", 415),
        (f"POST {MAPS}?dryRun=All", "application/json", 400),
        (f"PUT {MAPS}/another", "application/json", 400),
        ("POST /api/v1/namespaces/other/configmaps", "application/json", 400),
        (f"PUT {MAPS}/one/status", "application/json", 404),
    ],
)
async def test_what_is_not_served_is_refused(
    server: ApiServer, write: Writer, request_line: str, media: str, status: int
) -> None:
    version = server.version
    method, path = request_line.split()
    assert (await write(method, path, config_map("one"), media=media))[0] == status
    assert server.version == version


async def test_the_definitions_of_gateway_api_complete_an_object(server: ApiServer, write: Writer) -> None:
    server.custom = frozenset({("v1", "Gateway")})
    listener = {"name": "web", "port": 80, "protocol": "HTTP"}
    document = gateway({"gatewayClassName": "zonal", "listeners": [listener]})
    _, created = await write("POST", GATEWAYS, document)
    assert created["spec"]["listeners"] == [listener | {"allowedRoutes": {"namespaces": {"from": "Same"}}}]
    said = [(each["type"], each["status"], each["reason"]) for each in created["status"]["conditions"]]
    assert said == [("Accepted", "Unknown", "Pending"), ("Programmed", "Unknown", "Pending")]
    server.put(document)
    assert (server.get("Gateway", "shop", "web") or {})["metadata"]["generation"] == 1, "nobody changed the spec"


async def test_the_definitions_of_gateway_api_refuse_a_status_of_another_form(server: ApiServer, write: Writer) -> None:
    server.custom = frozenset({("v1", "Gateway")})
    server.put(gateway({"gatewayClassName": "zonal", "listeners": []}))
    condition = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": ""}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    status = {"conditions": [condition], "listeners": [{"name": "web", "attachedRoutes": 0, "conditions": [condition]}]}
    assert (await write("PATCH", f"{GATEWAYS}/web/status", {"status": status}, media=MERGE))[0] == 200
    wrong = {
        "addresses": [{"type": "IPAddress", "value": ""}],
        "conditions": [condition | {"reason": ""}, condition],
        "listeners": [{"name": "web", "conditions": "none", "attachedRoutes": -1, "port": 80}],
    }
    code, refusal = await write("PATCH", f"{GATEWAYS}/web/status", {"status": wrong}, media=MERGE)
    assert code == 422
    assert sorted(cause["field"] for cause in refusal["details"]["causes"]) == [
        "status.addresses[0].value",
        "status.conditions[0].reason",
        "status.conditions[1]",
        "status.listeners[0].attachedRoutes",
        "status.listeners[0].conditions",
        "status.listeners[0].port",
    ]


async def test_a_service_that_no_api_server_stores_is_refused(write: Writer) -> None:
    path = "/api/v1/namespaces/shop/services"
    port = {"name": "http-80", "port": 80, "targetPort": 20000, "appProtocol": "http"}
    wrong = service(port, {**port, "port": 0}, {"port": 443})
    wrong["metadata"] = {"name": "8-web", "labels": {"app": "a" * 64}, "ownerReferences": [{"kind": "Gateway"}]}
    wrong["spec"] |= {"externalIPs": ["127.0.0.1", "nowhere"], "externalTrafficPolicy": "Local"}
    code, refusal = await write("POST", path, wrong)
    assert code == 422
    assert [cause["field"] for cause in refusal["details"]["causes"]] == [
        "metadata.name",
        "metadata.labels",
        *(f"metadata.ownerReferences[0].{name}" for name in ("apiVersion", "name", "uid")),
        "spec.ports[1].port",
        "spec.ports[1]",
        "spec.ports[2].name",
        "spec.externalIPs[0]",
        "spec.externalIPs[1]",
    ]
    assert (await write("POST", path, service(port)))[0] == 201

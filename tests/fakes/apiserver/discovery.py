"""What clients ask before they ask for objects: groups, resources, version, health and the schema.

Responsible for the documents at paths that are no resource's. It must not know the store.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from tests.fakes.apiserver.kinds import CUSTOM_RESOURCES, RESOURCES, Document, Resource

_HEALTH = ("/livez", "/readyz", "/healthz")
_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
_STATUS_VERBS = ["get", "patch", "update"]
_VERSION: Document = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.0",
    "gitCommit": "8e16b12fda5b1dccc41a6de48b3e356cc7d5048b",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "go1.27.3",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_OPENAPI_INFO: Document = {"title": "Kubernetes", "version": "v1.36.0"}


_TEXT = "text/plain; charset=utf-8"
_OPENAPI_V2_PATH = "/openapi/v2"
_OPENAPI_V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_OPENAPI_V2 = b"\x0a\x032.0"  # field 1, the version of Swagger: a schema that knows no kind, so kubectl checks nothing


def answer_at(path: str, custom: Collection[tuple[str, str]] = ()) -> tuple[str, bytes] | None:
    """Content type and body at a path that is no resource's; None where there is nothing.

    `custom` has version and kind of each custom resource that is served.
    """
    document = document_at(path) or _custom_documents(custom).get(path)
    if document is not None:
        return "application/json", encoded(document)
    if path == _OPENAPI_V2_PATH:
        return _OPENAPI_V2_TYPE, _OPENAPI_V2
    return (_TEXT, b"ok") if path.removesuffix("/") in _HEALTH else None


def document_at(path: str) -> Document | None:
    """The document at a path; None where there is none."""
    return _documents().get(path.rstrip("/"))


def _documents() -> Mapping[str, Document]:
    groups: dict[str, list[Resource]] = {}
    for resource in RESOURCES:
        groups.setdefault(resource.group, []).append(resource)
    schemas = {_path_of(resources[0]).removeprefix("/"): resources for resources in groups.values()}
    links = {name: {"serverRelativeURL": f"/openapi/v3/{name}?hash=1"} for name in schemas}
    return {
        "/version": _VERSION,
        "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in groups if name]},
        **{f"/apis/{name}": {"kind": "APIGroup", "apiVersion": "v1"} | _group(name) for name in groups if name},
        **{_path_of(resources[0]): _resource_list(resources) for resources in groups.values()},
        "/openapi/v3": {"paths": links},
        **{f"/openapi/v3/{name}": _schema(resources) for name, resources in schemas.items()},
    }


def _custom_documents(custom: Collection[tuple[str, str]]) -> Mapping[str, Document]:
    """The group of the custom resources that are served, and the list of each version."""
    lists: dict[str, list[Resource]] = {}
    for resource in CUSTOM_RESOURCES:
        if (resource.version, resource.kind) in custom:
            lists.setdefault(resource.version, []).append(resource)
    documents = {_path_of(resources[0]): _resource_list(resources) for resources in lists.values()}
    for resources in lists.values():
        group = resources[0].group
        named = [
            {"groupVersion": f"{group}/{version}", "version": version}
            for version, known in lists.items()
            if known[0].group == group
        ]
        documents[f"/apis/{group}"] = {
            "kind": "APIGroup",
            "apiVersion": "v1",
            "name": group,
            "versions": named,
            "preferredVersion": named[-1],
        }
    return documents


def _path_of(resource: Resource) -> str:
    return f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.api_version}"


def _group(name: str) -> Document:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _resource_list(resources: list[Resource]) -> Document:
    listed = [entry for resource in resources for entry in _entries(resource)]
    version = resources[0].api_version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": listed}


def _entries(resource: Resource) -> list[Document]:
    entry: Document = {
        "name": resource.plural,
        "singularName": resource.kind.lower(),
        "namespaced": resource.is_namespaced,
        "kind": resource.kind,
        "verbs": _VERBS,
    }
    status = entry | {"name": f"{resource.plural}/status", "singularName": "", "verbs": _STATUS_VERBS}
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    return [entry, status] if resource.has_status else [entry]


def _schema(resources: list[Resource]) -> Document:
    """As much of OpenAPI v3 as kubectl reads: that the server validates fields, and objects of any content."""
    paths: Document = {}
    schemas: Document = {}
    for resource in resources:
        kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        operation = {
            "x-kubernetes-group-version-kind": kind,
            "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
            "responses": {"200": {"description": "OK"}},
        }
        where = "namespaces/{namespace}/" if resource.is_namespaced else ""
        collection = f"{_path_of(resource)}/{where}{resource.plural}"
        paths[collection] = {"post": operation | {"x-kubernetes-action": "post"}}
        paths[collection + "/{name}"] = {
            "put": operation | {"x-kubernetes-action": "put"},
            "patch": operation | {"x-kubernetes-action": "patch"},
        }
        name = ".".join(("test", *reversed(resource.group.split(".")), resource.version, resource.kind))
        schemas[name] = {"type": "object", "x-kubernetes-group-version-kind": [kind]}
    return {"openapi": "3.0.0", "info": _OPENAPI_INFO, "paths": paths, "components": {"schemas": schemas}}


def encoded(document: Document) -> bytes:
    return msgspec.json.encode(document) + b"\n"

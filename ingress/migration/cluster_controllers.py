"""Finds the controller of ingress-nginx in a cluster: its workload, its Service, and the ports of its tcp-services.

Imported only for a cluster. Reads each list once, and writes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ingress.migration.arguments import PORTS, PortLines
from ingress.migration.checking import serving
from ingress.migration.controllers import OtherController, controllers_in, service_in
from ingress.settings.context import TranslationContext
from ingress.sources.kubernetes.api import ApiError, ApiServer
from ingress.sources.kubernetes.resources import PAGE_ITEMS

_WORKLOADS: Final[Mapping[str, str]] = {
    "Deployment": "deployments",
    "DaemonSet": "daemonsets",
    "StatefulSet": "statefulsets",
}
_SUPPOSED = "so that it runs with its defaults is taken as given"


class AskedController(msgspec.Struct, frozen=True):
    """What a cluster says of ingress-nginx. `controller` None: it has none that serves the class.

    `ports` are the lines for its ports, and `service` is the Service by which clients reach it. `unread` are sentences
    that say what could not be read.
    """

    controller: OtherController | None = None
    service: Mapping[str, Any] | None = None
    ports: PortLines = PortLines()
    unread: tuple[str, ...] = ()


class _Unread(Exception):
    """Something could not be read. The text is a clause that says what, and why."""


async def ask_controller(api: ApiServer, context: TranslationContext, *, seconds: float) -> AskedController:
    """What the cluster says within `seconds` of the controller that serves the class of `context`."""
    try:
        async with asyncio.timeout(seconds):
            return await _asked(api, context)
    except TimeoutError:
        return AskedController(unread=(f"The arguments of ingress-nginx came not in time, {_SUPPOSED}.",))
    except _Unread as unread:
        return AskedController(unread=(f"The arguments of ingress-nginx could not be read ({unread}), {_SUPPOSED}.",))


async def _asked(api: ApiServer, context: TranslationContext) -> AskedController:
    found: list[OtherController] = []
    for kind, plural in _WORKLOADS.items():
        found += controllers_in(await _listed(api, f"/apis/apps/v1/{plural}", kind))
    controller = serving(found, context)
    if controller is None:
        return AskedController()
    published = controller.get("publish-service").partition("/")[0]
    try:
        path = f"/api/v1/namespaces/{published or controller.namespace}/services"
        service = service_in(await _listed(api, path, "Service"), controller)
        ports = PortLines(*[await _lines(api, controller.get(name)) for name in PORTS])
        return AskedController(controller, service, ports)
    except _Unread as unread:
        return AskedController(controller, unread=(f"What stands beside ingress-nginx could not be read ({unread}).",))


async def _listed(api: ApiServer, path: str, kind: str) -> list[Mapping[str, Any]]:
    """Every object of a list, with its kind, which items of lists lack."""
    found: list[Mapping[str, Any]] = []
    more = ""
    while True:
        page = await _read(api, path, {"limit": str(PAGE_ITEMS), **({"continue": more} if more else {})})
        found += ({**item, "kind": kind} for item in page.get("items") or ())
        more = (page.get("metadata") or {}).get("continue") or ""
        if not more:
            return found


async def _lines(api: ApiServer, full_name: str) -> Mapping[str, str] | None:
    """The data of a ConfigMap; None if there is none."""
    namespace, _, name = full_name.partition("/")
    if not name:
        return None
    found = await _read(api, f"/api/v1/namespaces/{namespace}/configmaps/{name}", {}, missing={})
    return found.get("data") or ({} if found else None)


async def _read(
    api: ApiServer, path: str, query: Mapping[str, str], *, missing: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    """What is at `path`; `missing`, if it is given, where nothing is. Raises `_Unread`."""
    try:
        async with api.request("GET", path, query=query) as response:
            if response.status == 404 and missing is not None:
                return missing
            if response.status != 200:
                raise _Unread(f"{path}: status {response.status}")
            answer: Mapping[str, Any] = msgspec.json.decode(await response.read(), type=dict[str, Any])
            return answer
    except (ApiError, msgspec.MsgspecError) as problem:
        raise _Unread(f"{path}: {problem}") from None

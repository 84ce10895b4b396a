"""One start of zonal in this process: the real translation, the fleet of `--workers 0`, and the endpoints behind it.

Only the source is missing: objects go into the inventory directly, so a change is served when `apply` returns.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from balancer.connections.listeners import Port
from balancer.connections.tls import self_signed
from balancer.logs.accesslines import AccessLogFormat
from balancer.model.publication import Publication
from balancer.workers.inprocess import InProcessFleet
from ingress.findings import Finding, Severity
from ingress.objects.converting import ObjectError, decode
from ingress.objects.kinds import Kind
from ingress.settings.context import TranslationContext
from ingress.sources.events import Replaced
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Memories, translate
from tests.features.ingress_nginx.authorities import Authorities
from tests.features.ingress_nginx.cases import Case, Json, Start
from tests.features.ingress_nginx.documents import case_documents, cluster_documents
from tests.features.ingress_nginx.endpoints import Endpoint, Endpoints
from tests.integration.manifests import Document

_FALLBACK = self_signed()
_NOWHERE = "127.16.255.254:1"  # for a Service without endpoints


class Stage:
    """A running zonal that serves the objects of all `cases` at once."""

    def __init__(self, start: Start, cases: Sequence[Case], authorities: Authorities) -> None:
        self.authorities = authorities
        self.endpoints = Endpoints(authorities)
        self.findings: tuple[Finding, ...] = ()
        self.log = bytearray()
        self.ports: dict[str, int] = {}
        """The listeners, by the names of the placeholders."""
        self._start = start
        self._objects: dict[str, Json] = {case.id: case.objects for case in cases}
        self._documents: dict[str, list[Document]] = {}
        self._placed: dict[str, dict[str, list[Endpoint]]] = {}
        self._generation = 0
        self._memories = Memories()
        self._context, self._log_format = _options(start.flags)
        self._log_ends: tuple[int, int] = (-1, -1)

    async def open(self) -> None:
        await self.endpoints.start()
        self._log_ends = reading, writing = os.pipe()
        os.set_blocking(reading, False)
        asyncio.get_running_loop().add_reader(reading, self._read_log)
        self._fleet = InProcessFleet(
            address="127.0.0.1",
            ports=(Port("http", 0), Port("https", 0)),
            access_log=self._log_format,
            fallback=_FALLBACK,
            new_log=lambda: writing,
        )
        self._fleet.open()
        self.ports = {"http_port": self._fleet.ports["http"], "https_port": self._fleet.ports["https"]}
        self._place_all()
        self._publish()
        await self._fleet.start()

    async def close(self) -> None:
        """Stop everything. Afterwards `log` is the whole access log."""
        await self._fleet.stop()
        self._read_log()
        asyncio.get_running_loop().remove_reader(self._log_ends[0])
        os.close(self._log_ends[0])
        await self.endpoints.stop()

    def apply(self, case: Case, changes: Json) -> None:
        """Serve the objects of `case` with these changes, by name; null deletes."""
        objects = dict(self._objects[case.id])
        for kind, changed in changes.items():
            if kind == "ingresses":
                names = {each["name"] for each in changed}
                objects[kind] = [each for each in objects[kind] if each["name"] not in names] + [
                    each for each in changed if len(each) > 1
                ]
            else:
                merged = {**objects.get(kind, {}), **changed}
                objects[kind] = {name: each for name, each in merged.items() if each is not None}
        self._objects[case.id] = objects
        self._place(case.id, objects)
        self._publish()

    def _place_all(self) -> None:
        for case_id, objects in self._objects.items():
            self._place(case_id, objects)

    def _place(self, case_id: str, objects: Json) -> None:
        """Make the documents of a case, and the endpoints that are new or different."""
        namespace, placed = objects["namespace"], self._placed.get(case_id, {})
        self._placed[case_id] = {
            name: self.endpoints.add(namespace, name, service, known=placed.get(name, []))
            for name, service in objects.get("services", {}).items()
            if not service.get("missing")
        }
        self._documents[case_id] = case_documents(
            self._resolved(objects, self._placed[case_id]),
            self._placed[case_id],
            self.authorities,
            shared_port=self.endpoints.port,
        )

    def _publish(self) -> None:
        placed = {name: endpoints for each in self._placed.values() for name, endpoints in each.items()}
        documents = cluster_documents(self._resolved(dict(self._start.config), placed))
        documents += [document for each in self._documents.values() for document in each]
        self._serve(documents)

    def _serve(self, documents: list[Document]) -> None:
        """Make zonal serve these objects and no others."""
        objects, refused = [], []
        for document in documents:
            try:
                if (item := decode(document)) is not None:
                    objects.append(item)
            except ObjectError as error:
                refused.append(_refusal(document, str(error)))
        inventory = Inventory()
        for kind in Kind:
            inventory.apply(Replaced(kind, tuple(item for item in objects if item.kind is kind)))
        translation = translate(inventory, self._context, memories=self._memories)
        self._generation += 1
        self._fleet.publish(Publication(self._generation, translation.model))
        self.findings = (*translation.findings, *refused)

    def _resolved(self, data: Any, placed: dict[str, list[Endpoint]]) -> Any:
        """`data` with the placeholders of endpoints filled in."""

        def label(match: re.Match[str]) -> str:
            endpoints = placed.get(match[1], [])
            return endpoints[0].label if endpoints else _NOWHERE

        return json.loads(re.sub(r"\{endpoint:([\w-]+)\}", label, json.dumps(data)))

    def _read_log(self) -> None:
        while True:
            try:
                data = os.read(self._log_ends[0], 65536)
            except BlockingIOError:
                return
            if not data:
                return
            self.log += data


@asynccontextmanager
async def staged(start: Start, cases: Sequence[Case], authorities: Authorities) -> AsyncIterator[Stage]:
    """A stage that serves, stopped at the end."""
    stage = Stage(start, cases, authorities)
    await stage.open()
    try:
        yield stage
    finally:
        await stage.close()


def _options(flags: Sequence[str]) -> tuple[TranslationContext, AccessLogFormat]:
    """What the command line of a start means."""
    given = dict(zip(flags[::2], flags[1::2], strict=True))
    log_format = AccessLogFormat(given.pop("--access-log", "json"))
    options = {name.removeprefix("--").replace("-", "_"): value for name, value in given.items()}
    context = TranslationContext(
        allow_local_endpoints=True, allow_external_name=True, enable_ssl_passthrough=True, http_port=0, https_port=0
    )
    return msgspec.structs.replace(context, **options), log_format


def _refusal(document: Document, message: str) -> Finding:
    """What a source says about an object that it cannot read."""
    metadata = document["metadata"]
    return Finding(
        kind=document["kind"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        reason="ObjectInvalid",
        message=message,
        effect="",
        severity=Severity.CLOSED,
    )

"""Looks up what the places of Gateways depend on: pods, addresses of this installation, and versions of definitions.

Asks the API server, each thing at a pace of its own, and keeps what it knew if there is no answer. Only a leader asks.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

import msgspec

from ingress.objects.definitions import DEFINITION, definitions_of
from ingress.writing.address_lookup import AddressesUnknown, AddressLookup
from ingress.writing.addresses import Addresses
from ingress.writing.calling import Api, NoApiAnswer, ask

_LOG = logging.getLogger(__name__)

_DEFINITION: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{DEFINITION}"


class _AnnotatedMetadata(msgspec.Struct, frozen=True):
    annotations: dict[str, str] | None = None


class _Definition(msgspec.Struct, frozen=True):
    metadata: _AnnotatedMetadata = _AnnotatedMetadata()


class _SelectingSpec(msgspec.Struct, frozen=True):
    selector: dict[str, str] | None = None


class _SelectingService(msgspec.Struct, frozen=True):
    spec: _SelectingSpec = _SelectingSpec()


class _SelectingServices(msgspec.Struct, frozen=True):
    items: tuple[_SelectingService, ...] | None = None


class PlanSurroundings:
    """What was found last. `own_service` is the Service of our pods, `selector` its own; `problem` says why there is
    none.
    """

    def __init__(
        self,
        api: Api,
        *,
        own_service: tuple[str, str] | None,
        lookup: AddressLookup | None,
        pause_seconds: float,
        needs_selector: bool,
    ) -> None:
        """`lookup` finds the addresses of this installation; None: nobody needs them.

        `pause_seconds` is the time between two looks.
        """
        self._api = api
        self.own_service = own_service
        self._lookup = lookup
        self._needs_selector = needs_selector
        self._next_at = 0.0
        self._is_answered = False
        self.pause_seconds = pause_seconds
        self.selector: Mapping[str, str] = {}
        self.addresses: Addresses | None = None
        self.bundles: tuple[str, ...] = ()
        self.channel = ""
        self.problem = ""
        self.is_known = False
        """Whether everything was found out once, as far as the API server tells it."""

    async def look(self, now: float) -> None:
        """Looks everything up, unless that was done lately. Never fails."""
        if now < self._next_at:
            return
        self._next_at = now + self.pause_seconds
        self._is_answered = True
        if self._needs_selector:
            await self._find_selector()
        if self._lookup is not None:
            try:
                self.addresses = await self._lookup()
            except AddressesUnknown as error:
                _LOG.info("%s; the last known addresses stay in use", error)
                self.addresses = self.addresses or ()
                self._is_answered = error.subject is not None
        await self._find_bundles()
        self.is_known = self.is_known or self._is_answered

    async def _find_selector(self) -> None:
        if self.own_service is None:
            self.problem = "--publish-service must name the Service of zonal's own pods."
            return
        namespace, name = self.own_service
        path = f"/api/v1/namespaces/{namespace}/services"
        body = await self._read(path, {"fieldSelector": f"metadata.name={name}"})
        if body is None:
            return
        try:
            items = msgspec.json.decode(body, type=_SelectingServices).items or ()
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        self.selector = (items[0].spec.selector or {}) if items else {}
        self.problem = "" if self.selector else f"the Service {namespace}/{name} must exist and select zonal's pods."

    async def _find_bundles(self) -> None:
        body = await self._read(_DEFINITION, {})
        if body is None:
            return
        try:
            annotations = msgspec.json.decode(body, type=_Definition).metadata.annotations or {}
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        found = definitions_of(annotations)
        self.bundles = (found.version,)
        self.channel = found.channel

    async def _read(self, path: str, query: Mapping[str, str]) -> bytes | None:
        """The answer; None if there is none, or another one than a document."""
        try:
            answer = await ask(self._api, "GET", path, query=query)
        except NoApiAnswer as error:
            _LOG.info("%s cannot be read: %s", path, error)
            self._is_answered = False
            return None
        if not answer.is_success:
            _LOG.info("%s cannot be read: %s", path, answer.problem)
        return answer.body if answer.is_success else None

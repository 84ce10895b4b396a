"""Decides which Ingresses get which status.loadBalancer.

Compares the published addresses with those that should be published. Does not know who leads, how addresses are found,
nor when it is asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import msgspec

from ingress.objects.kinds import Ingress, IngressClass, PublishedAddress, key_of
from ingress.settings.context import TranslationContext
from ingress.sources.inventory import Inventory
from ingress.translation.ingress.acceptance import classes_of, is_accepted
from ingress.writing.addresses import Addresses

_PATH = "/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses/{name}/status"

Place = tuple[str, str]
"""Namespace and name of an Ingress."""


class CurrentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One Ingress: whether it is ours, and the addresses in its status now."""

    namespace: str
    name: str
    uid: str = ""
    version: str = ""
    is_accepted: bool
    addresses: tuple[PublishedAddress, ...] = ()

    @property
    def place(self) -> Place:
        """The key of the Ingress."""
        return self.namespace, self.name


class StatusPatch(msgspec.Struct, frozen=True, kw_only=True):
    """One write: the whole list of addresses of an Ingress, for the `version` of the Ingress that was judged."""

    namespace: str
    name: str
    version: str
    addresses: Addresses

    @property
    def path(self) -> str:
        """The path of the status subresource, through which a patch cannot change the spec."""
        return _PATH.format(namespace=self.namespace, name=self.name)

    @property
    def group(self) -> str:
        """The namespace, which may refuse every patch."""
        return self.namespace

    @property
    def told(self) -> str:
        """The Ingress in words."""
        return f"{self.namespace}/{self.name}"

    @property
    def body(self) -> bytes:
        """A JSON merge patch (RFC 7396) with a resourceVersion: if the Ingress has changed meanwhile, the answer is
        409.
        """
        addresses = [_without_empty(item) for item in self.addresses]
        patch: dict[str, object] = {"status": {"loadBalancer": {"ingress": addresses or None}}}
        if self.version:
            patch["metadata"] = {"resourceVersion": self.version}
        return msgspec.json.encode(patch)


class PatchOutcome(Enum):
    """What the answer to a patch means for the next patch."""

    WRITTEN = "written"
    GONE = "gone"  # the Ingress was deleted meanwhile
    REFUSED = "refused"  # RBAC, a quota or an admission webhook has to be changed
    CHANGED = "changed"  # the Ingress has changed since it was judged: look again
    BUSY = "busy"  # the server is unavailable: pause


def outcome_of(status: int) -> PatchOutcome:
    """The outcome of a patch, from the HTTP status of its answer."""
    if 200 <= status < 300:
        return PatchOutcome.WRITTEN
    if status == 404:
        return PatchOutcome.GONE
    if status == 409:
        return PatchOutcome.CHANGED
    return PatchOutcome.BUSY if status in (408, 429) or status >= 500 else PatchOutcome.REFUSED


class Statuses:
    """Decides which writes are due. Remembers which Ingresses were ours in the life of this process."""

    __slots__ = ("_ours", "_written")

    def __init__(self) -> None:
        self._ours: dict[Place, str] = {}  # with the uid, because another object may have the same name
        self._written: dict[Place, tuple[str, Addresses]] = {}

    def note(self, standings: Iterable[CurrentStatus]) -> None:
        """Remembers which Ingresses are ours. Followers do so too, because one of them may have to clear what a leader
        left.
        """
        known = {standing.place: standing for standing in standings}
        self._ours = {place: standing.uid for place, standing in known.items() if self._is_of_interest(standing)}
        self._written = {place: done for place, done in self._written.items() if place in known}

    def due(self, standings: Iterable[CurrentStatus], addresses: Addresses) -> tuple[StatusPatch, ...]:
        """Every write that is needed now, sorted by place.

        An accepted Ingress gets `addresses` in place of any others. An Ingress that is no longer ours loses its
        addresses if they are all ours. It loses them only once, because its next controller may have the same addresses
        (of nodes). Without `addresses` nothing is due: clients keep the old addresses until there are better ones.
        """
        known = sorted(standings, key=lambda standing: standing.place)
        self.note(known)
        if not addresses:
            return ()
        patches = (self._patch(standing, addresses) for standing in known)
        return tuple(patch for patch in patches if patch is not None)

    def written(self, patch: StatusPatch) -> None:
        """Reports that `patch` was carried out. It is not due again, even if the watch reports the change late."""
        place = patch.namespace, patch.name
        self._written[place] = patch.version, patch.addresses
        if not patch.addresses:
            self._ours.pop(place, None)

    def _is_of_interest(self, standing: CurrentStatus) -> bool:
        was_ours = self._ours.get(standing.place) == standing.uid and bool(standing.addresses)
        return standing.is_accepted or was_ours

    def _patch(self, standing: CurrentStatus, addresses: Addresses) -> StatusPatch | None:
        wanted = self._wanted(standing, addresses)
        if wanted is None or tuple(sorted(standing.addresses)) == wanted:
            return None
        if standing.version and self._written.get(standing.place) == (standing.version, wanted):
            return None
        return StatusPatch(namespace=standing.namespace, name=standing.name, version=standing.version, addresses=wanted)

    def _wanted(self, standing: CurrentStatus, addresses: Addresses) -> Addresses | None:
        """The addresses that the status should have; None if zonal must not change the status."""
        if standing.is_accepted:
            return addresses
        carries_only_ours = set(standing.addresses) <= set(addresses)
        return () if standing.place in self._ours and carries_only_ours else None


def standings_of(inventory: Inventory, context: TranslationContext) -> tuple[CurrentStatus, ...]:
    """Every Ingress of the inventory. Accepted are those of our class, even if something in them is invalid."""
    classes = classes_of(inventory.of(IngressClass), context.controller_class)
    return tuple(
        CurrentStatus(
            namespace=namespace,
            name=name,
            uid=ingress.metadata.uid,
            version=ingress.metadata.resource_version,
            is_accepted=is_accepted(ingress, classes, context=context),
            addresses=ingress.status.load_balancer.ingress,
        )
        for ingress in inventory.of(Ingress)
        for namespace, name in (key_of(ingress),)
    )


def _without_empty(address: PublishedAddress) -> dict[str, str]:
    fields = {"ip": address.ip, "hostname": address.hostname}
    return {name: value for name, value in fields.items() if value}

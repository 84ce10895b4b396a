"""Which Ingresses get which status.loadBalancer, decided from what is known of all of them.

Responsible for the difference between what is published and what should be. It must not know who leads, how addresses
are found, nor when it is asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import msgspec

from ingress.inventory import Inventory
from ingress.objects import PublishedAddress, key_of
from ingress.translation.acceptance import classes_of, is_accepted
from ingress.translation.context import TranslationContext
from ingress.writing.addresses import Addresses

_PATH = "/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses/{name}/status"

Place = tuple[str, str]
"""Namespace and name of an Ingress."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One Ingress: whether it is ours, and the addresses that its status says now."""

    namespace: str
    name: str
    uid: str = ""
    version: str = ""
    is_accepted: bool
    addresses: tuple[PublishedAddress, ...] = ()

    @property
    def place(self) -> Place:
        """What tells it from others."""
        return self.namespace, self.name


class StatusPatch(msgspec.Struct, frozen=True, kw_only=True):
    """One write: the whole list of addresses of an Ingress, at the `version` of it that was judged."""

    namespace: str
    name: str
    version: str
    addresses: Addresses

    @property
    def path(self) -> str:
        """Where the patch goes: the status subresource, which cannot touch the spec."""
        return _PATH.format(namespace=self.namespace, name=self.name)

    @property
    def body(self) -> bytes:
        """A JSON merge patch (RFC 7396); with a resourceVersion, an Ingress that changed meanwhile answers 409."""
        addresses = [_without_empty(item) for item in self.addresses]
        patch: dict[str, object] = {"status": {"loadBalancer": {"ingress": addresses or None}}}
        if self.version:
            patch["metadata"] = {"resourceVersion": self.version}
        return msgspec.json.encode(patch)


class Outcome(Enum):
    """What the answer to a patch means for the next one."""

    WRITTEN = "written"
    GONE = "gone"  # the Ingress was deleted meanwhile
    REFUSED = "refused"  # somebody has to change something: RBAC, a quota, an admission webhook
    CHANGED = "changed"  # the Ingress is not what was judged: look again
    BUSY = "busy"  # the server cannot now: leave it alone for a while


def outcome_of(status: int) -> Outcome:
    """What an HTTP status says about a patch."""
    if 200 <= status < 300:
        return Outcome.WRITTEN
    if status == 404:
        return Outcome.GONE
    if status == 409:
        return Outcome.CHANGED
    return Outcome.BUSY if status in (408, 429) or status >= 500 else Outcome.REFUSED


class Statuses:
    """What is due, judged against what was ours in the life of this process."""

    __slots__ = ("_ours", "_written")

    def __init__(self) -> None:
        self._ours: dict[Place, str] = {}  # with the uid: an object of the same name may be another one
        self._written: dict[Place, tuple[str, Addresses]] = {}

    def note(self, standings: Iterable[Standing]) -> None:
        """Remember what is ours; followers do so too, because one of them may have to clear what a leader left."""
        known = {standing.place: standing for standing in standings}
        self._ours = {place: standing.uid for place, standing in known.items() if self._is_of_interest(standing)}
        self._written = {place: done for place, done in self._written.items() if place in known}

    def due(self, standings: Iterable[Standing], addresses: Addresses) -> tuple[StatusPatch, ...]:
        """Every write that is needed now, sorted by place.

        An accepted Ingress gets `addresses`, whoever wrote others there. One that was ours and is no more loses its
        addresses if they are all ours; once, because its next controller may share them (node addresses). Without any
        `addresses` nothing is due: what clients are told stays until there is something better.
        """
        known = sorted(standings, key=lambda standing: standing.place)
        self.note(known)
        if not addresses:
            return ()
        patches = (self._patch(standing, addresses) for standing in known)
        return tuple(patch for patch in patches if patch is not None)

    def written(self, patch: StatusPatch) -> None:
        """`patch` was carried out: it is not due again, however late the watch says so."""
        place = patch.namespace, patch.name
        self._written[place] = patch.version, patch.addresses
        if not patch.addresses:
            self._ours.pop(place, None)

    def _is_of_interest(self, standing: Standing) -> bool:
        was_ours = self._ours.get(standing.place) == standing.uid and bool(standing.addresses)
        return standing.is_accepted or was_ours

    def _patch(self, standing: Standing, addresses: Addresses) -> StatusPatch | None:
        wanted = self._wanted(standing, addresses)
        if wanted is None or tuple(sorted(standing.addresses)) == wanted:
            return None
        if standing.version and self._written.get(standing.place) == (standing.version, wanted):
            return None
        return StatusPatch(namespace=standing.namespace, name=standing.name, version=standing.version, addresses=wanted)

    def _wanted(self, standing: Standing, addresses: Addresses) -> Addresses | None:
        """What the status should say; None where that is not for us to say."""
        if standing.is_accepted:
            return addresses
        carries_only_ours = set(standing.addresses) <= set(addresses)
        return () if standing.place in self._ours and carries_only_ours else None


def standings_of(inventory: Inventory, context: TranslationContext) -> tuple[Standing, ...]:
    """Every Ingress of the inventory as it stands; accepted ones are those of our class, whatever is wrong in them."""
    classes = classes_of(inventory.ingress_classes(), context.controller_class)
    return tuple(
        Standing(
            namespace=namespace,
            name=name,
            uid=ingress.metadata.uid,
            version=ingress.metadata.resource_version,
            is_accepted=is_accepted(ingress, classes, context=context),
            addresses=ingress.status.load_balancer.ingress,
        )
        for ingress in inventory.ingresses()
        for namespace, name in (key_of(ingress),)
    )


def _without_empty(address: PublishedAddress) -> dict[str, str]:
    fields = {"ip": address.ip, "hostname": address.hostname}
    return {name: value for name, value in fields.items() if value}

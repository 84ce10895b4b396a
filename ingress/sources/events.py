"""Defines the events in which every source reports the cluster, whether it reads a folder or the API.

Events are about decoded objects of the kinds that zonal reads. Does not know who listens, nor how a source finds out.
"""

from __future__ import annotations

import msgspec

from ingress.findings import Finding
from ingress.objects.kinds import Kind, KubernetesObject, PublishedAddress


class Replaced(msgspec.Struct, frozen=True):
    """These are all objects of the kind. Other known objects are gone (client-go's Replace after a list)."""

    kind: Kind
    objects: tuple[KubernetesObject, ...]


class Upserted(msgspec.Struct, frozen=True):
    """This object is new or has changed."""

    object: KubernetesObject


class Removed(msgspec.Struct, frozen=True):
    """This object is gone; `namespace` is empty for cluster-wide kinds."""

    kind: Kind
    namespace: str
    name: str


class Resolved(msgspec.Struct, frozen=True):
    """These are the current addresses of a DNS name outside of the cluster, which `namespace` wants.

    Without addresses it is wanted no more.
    """

    namespace: str
    name: str
    addresses: tuple[str, ...]


class SourceFindings(msgspec.Struct, frozen=True):
    """All findings about the source itself. They replace what the same source reported before."""

    source: str
    findings: tuple[Finding, ...]


class BoundPort(msgspec.Struct, frozen=True, order=True):
    """A port of the Gateway `namespace`/`name`, and the bound port of this process that it stands on.

    `protocol` is that of its listeners in small letters; empty if it is unknown.
    """

    namespace: str
    name: str
    port: int
    target: int
    protocol: str = ""


class Provisioned(msgspec.Struct, frozen=True):
    """What this replica knows of the places of Gateways beside their Services.

    `ports` are those that a Service gets, or had until lately. `addresses` are those of this process (None: they are
    unknown), where no Service has them. `bundles` are the versions of the definitions of Gateway API, and `channel`
    theirs (`standard`, `experimental`), empty if it is unknown. `problem` says why no Service can be made.
    """

    ports: tuple[BoundPort, ...] = ()
    addresses: tuple[PublishedAddress, ...] | None = None
    bundles: tuple[str, ...] = ()
    channel: str = ""
    problem: str = ""


Event = Replaced | Upserted | Removed | Resolved | SourceFindings | Provisioned

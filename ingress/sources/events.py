"""What every source says about the cluster, whether it reads a folder or the API.

Responsible for the vocabulary between sources and inventory: events are about objects that we read, already decoded.
It must not know who listens, nor how a source finds out.
"""

from __future__ import annotations

import msgspec

from ingress.findings import Finding
from ingress.objects import Kind, KubernetesObject


class Replaced(msgspec.Struct, frozen=True):
    """These are all objects of the kind; any other known one is gone (client-go's Replace after a list)."""

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
    """These are the addresses of a name outside the cluster now."""

    name: str
    addresses: tuple[str, ...]


class SourceFindings(msgspec.Struct, frozen=True):
    """Everything that is wrong at the source itself; replaces what the same source said before."""

    source: str
    findings: tuple[Finding, ...]


Event = Replaced | Upserted | Removed | Resolved | SourceFindings

"""Reads and writes the Lease object: its fields, its times and its bytes (coordination.k8s.io/v1).

Keeps the metadata that others put into the Lease. Does not know when a lease may be taken.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

_COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


class LeaseError(ValueError):
    """The bytes are not a Lease; the text is one line."""


class LeaseSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """LeaseSpec. An empty holder means that the holder gave up the lease. Times are MicroTime, and only people read
    them.
    """

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, frozen=True):
    """A Lease at one `version` (resourceVersion; empty if the Lease does not exist yet). `metadata` is JSON."""

    version: str
    metadata: bytes
    spec: LeaseSpec


class _LeaseMetadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Document(msgspec.Struct):
    metadata: msgspec.Raw
    spec: LeaseSpec = LeaseSpec()


def new_lease(name: str, spec: LeaseSpec) -> Lease:
    """A Lease that does not exist in the cluster yet."""
    return Lease(version="", metadata=msgspec.json.encode({"name": name}), spec=spec)


def decode_lease(body: bytes) -> Lease:
    """The Lease in an answer.

    Raises `LeaseError`, also for a Lease without the resourceVersion that guards a write.
    """
    try:
        document = msgspec.json.decode(body, type=_Document)
        metadata = msgspec.json.decode(document.metadata, type=_LeaseMetadata)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LeaseError(f"the answer is no Lease: {error}") from None
    if not metadata.resource_version:
        raise LeaseError("the Lease has no resourceVersion")
    return Lease(metadata.resource_version, bytes(document.metadata), document.spec)


def encode_lease(lease: Lease) -> bytes:
    """The body of a POST, or of a PUT that its resourceVersion guards."""
    document = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": msgspec.Raw(lease.metadata),
        "spec": lease.spec,
    }
    return msgspec.json.encode(document)


def lease_path(namespace: str, name: str = "") -> str:
    """The path of a Lease; without a name, the path where Leases are created."""
    collection = _COLLECTION.format(namespace=namespace)
    return f"{collection}/{name}" if name else collection


def micro_time(epoch_seconds: float) -> str:
    """meta/v1 MicroTime: RFC 3339 in UTC with exactly six digits, because the API server refuses any other number of
    digits.
    """
    return datetime.fromtimestamp(epoch_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

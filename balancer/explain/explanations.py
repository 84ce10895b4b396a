"""Says what an explanation is: the answer of `/debug/explain` and of `zonal explain -o json`.

Does not know how it comes about.
"""

from __future__ import annotations

import msgspec

from balancer.errors import ErrorKind
from balancer.explain.limits import Limits
from balancer.matching.certificates import CertificateFacts
from balancer.model.zones import OwnZone
from balancer.proxy.answers import ANSWERS


class CandidateEndpoint(msgspec.Struct, frozen=True):
    """An endpoint that the request may reach, as `address:port`. A `zone` of None is unknown."""

    endpoint: str
    zone: str | None
    probability: float


class Share(msgspec.Struct, frozen=True):
    """Mode and reason of a share of the requests, if equal requests can be treated differently."""

    mode: str
    reason: str | None
    probability: float


class EndpointFacts(msgspec.Struct, frozen=True):
    """One endpoint that the slices of the Service name: `address:port`, or the address alone if it is not used.

    `state` says its conditions, and its health if a running ingress answers. Unknown values are None.
    """

    endpoint: str
    zone: str | None
    node: str | None
    pod: str | None
    state: str


class Explanation(msgspec.Struct, frozen=True):
    """Where a request goes. References are `namespace/name`; missing values are None.

    `status` is the status with which zonal itself answers, with the `error` kind (an `ErrorKind`) or the `location` of
    a redirect. It is None if an endpoint answers, which gets `target` if that is not the client's. `certificate` is the
    one of a request over TLS, or of the request that follows a redirect. `endpoints` has every endpoint once.

    `mode`, `reason` and `endpoint` belong to the most probable share. `shares` is set if there are several shares,
    `dry_run_reason` in a dry run, and `dry_run` says then in words what the policy would change. `to_zone` is None also
    if the pool spans zones. `endpoint` is the next endpoint of this worker, and only set if the worker serves.
    """

    host: str
    path: str
    ingress: str | None
    service: str | None
    canary: str | None
    own_zone: str | None
    own_zone_source: str
    policy: str | None
    policy_source: str | None
    mode: str | None
    reason: str | None
    pool: tuple[CandidateEndpoint, ...]
    endpoint: str | None
    to_zone: str | None
    steps: tuple[str, ...]
    shares: tuple[Share, ...] | msgspec.UnsetType = msgspec.UNSET
    dry_run_reason: str | msgspec.UnsetType = msgspec.UNSET
    dry_run: str | msgspec.UnsetType = msgspec.UNSET
    status: int | None = None
    error: str | None = None
    location: str | None = None
    target: str | None = None
    certificate: CertificateFacts | None = None
    limits: Limits | None = None
    endpoints: tuple[EndpointFacts, ...] = ()


def empty(*, host: str, path: str, own: OwnZone) -> Explanation:
    """The explanation of a request of which only host and path are known, by a replica in `own`."""
    return Explanation(
        host=host,
        path=path,
        ingress=None,
        service=None,
        canary=None,
        own_zone=own.zone,
        own_zone_source=own.source,
        policy=None,
        policy_source=None,
        mode=None,
        reason=None,
        pool=(),
        endpoint=None,
        to_zone=None,
        steps=(),
    )


def failing(told: Explanation, kind: ErrorKind) -> Explanation:
    """`told` with the answer of zonal to an error of this kind."""
    return msgspec.structs.replace(told, status=ANSWERS[kind].status, error=kind.value)
